/** Matrices of many APIs, which are valid files. */
import type { Matrix } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'

/**
 * The kinds and the advice of the source, and this many APIs, the first of which is called `name`. A third of
 * them accepts one kind, a third two, and a third all.
 */
export function manyApis(count: number, name = 'first'): Matrix {
  const kinds = supportMatrix.tokenKinds.map(({ id }) => id)
  return {
    title: `${count} APIs, the first of which is ${name}`,
    tokenKinds: supportMatrix.tokenKinds,
    apis: Array.from({ length: count }, (_, index) => ({
      id: index === 0 ? name : `api-${index}`,
      title: `the API number ${index}, which is one of many of a large cloud provider`,
      accepts: kinds.slice(0, 1 + (index % kinds.length)),
      section: '§5.4',
    })),
    statements: supportMatrix.statements.filter(({ claim }) => claim.type === 'advice'),
    conflicts: [],
  }
}
