/** Whether the ids of a matrix are unique and refer to something: a slip must not become a silent refusal. */
import type { Claim, Matrix } from './matrix.ts'

/** @throws TypeError naming the first id that repeats or refers to nothing, or where this is no matrix at all */
export function refuseInconsistent(matrix: Matrix): void {
  refuseOther(matrix)
  const kinds = uniqueIds('token kinds', matrix.tokenKinds)
  const apis = uniqueIds('apis', matrix.apis)
  const statements = uniqueIds('statements', matrix.statements)
  uniqueIds('conflicts', matrix.conflicts)
  const refer = (where: string, ids: readonly string[], known: ReadonlySet<string>) => {
    for (const id of ids)
      if (!known.has(id)) throw new TypeError(`${where} refers to \`${id}\`, which is not there`)
  }
  for (const api of matrix.apis) refer(`api \`${api.id}\``, api.accepts, kinds)
  for (const { id, claim } of matrix.statements) {
    refer(`statement \`${id}\``, kindsOf(claim), kinds)
    refer(`statement \`${id}\``, apisOf(claim), apis)
  }
  for (const conflict of matrix.conflicts) {
    const where = `conflict \`${conflict.id}\``
    refer(where, [...conflict.apis, ...conflict.cells.map((cell) => cell.api)], apis)
    refer(where, [...conflict.kinds, ...conflict.cells.map((cell) => cell.kind)], kinds)
    refer(where, conflict.statements, statements)
  }
}

/** A caller without types may bring anything. */
function refuseOther(matrix: Partial<Matrix> | null | undefined): void {
  for (const part of ['tokenKinds', 'apis', 'statements', 'conflicts'] as const)
    if (!Array.isArray(matrix?.[part]))
      throw new TypeError(
        `\`${part}\`: expected a list, as in a matrix from \`loadMatrix\` or \`parseMatrix\` of portcullis/matrix`,
      )
}

function kindsOf(claim: Claim): readonly string[] {
  if ('kind' in claim) return [claim.kind]
  return 'kinds' in claim ? claim.kinds : claim.accepts
}

function apisOf(claim: Claim): readonly string[] {
  if ('apis' in claim) return claim.apis
  return 'api' in claim ? [claim.api] : []
}

function uniqueIds(what: string, rows: readonly { readonly id: string }[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { id } of rows) {
    if (ids.has(id)) throw new TypeError(`two ${what} have the id \`${id}\``)
    ids.add(id)
  }
  return ids
}
