/** The rules that the suite decides by: of the shipped matrix in both modes, and of three others. */
import { type CompileOptions, compile, type Engine, finish, type Matrix } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import { answersInSteps } from '../../../sidecar/contract/change-messages.ts'
import { matrixResponse } from '../../../sidecar/contract/responses.ts'

const proseRules: Matrix = {
  ...supportMatrix,
  conflicts: supportMatrix.conflicts.map((conflict) => ({ ...conflict, resolution: 'prose' })),
}

/** One kind, one API, and names that nobody would expect. */
const smallest: Matrix = {
  title: 'One door',
  tokenKinds: [
    {
      ...{ id: 'room key', title: 'Öffner', family: 'metal', scopeLevel: 'project', header: 'X-Room-Key' },
      ...{ issuedTo: 'guest', obtained: { by: 'control_panel', steps: ['Ask the porter.'] } },
      ...{ permissionScopes: [], lifetimeSeconds: null, section: '§1' },
    },
  ],
  apis: [{ id: '__proto__', title: 'Door', accepts: ['room key'], section: '§2' }],
  statements: [],
  conflicts: [],
}

/** The kinds of the source, and APIs of which a third accepts one, a third two, and a third all. */
const many: Matrix = {
  ...{ title: 'Many APIs', tokenKinds: supportMatrix.tokenKinds, statements: [], conflicts: [] },
  apis: Array.from({ length: 300 }, (_, index) => ({
    ...{ id: `api-${index}`, title: `the API number ${index}`, section: '§5.4' },
    accepts: supportMatrix.tokenKinds.slice(0, 1 + (index % 3)).map(({ id }) => id),
  })),
}

const made = (matrix: Matrix, options?: CompileOptions) => compile(matrix, options)

/** By the names of their files. */
export const ENGINES: Readonly<Record<string, Engine>> = {
  shipped: made(supportMatrix),
  'shipped-strict': made(supportMatrix, { strict: true }),
  prose: made(proseRules),
  'prose-strict': made(proseRules, { strict: true }),
  smallest: made(smallest),
  many: made(many),
}

/** The encoded message `Rules` of an engine. */
export function rulesOf(engine: Engine): Buffer {
  return Buffer.concat([matrixResponse(engine), ...finish(answersInSteps(engine))])
}
