/** The answers of a simulated directory about its tokens. */
import type { Described } from '../../sidecar/authority/hub/hub-messages.ts'
import type { Touched } from '../../sidecar/directory/feed/touches.ts'

export const WALL_MS = 1_800_000_000_000

export interface Token {
  readonly value: string
  readonly id: string
  readonly user: string
  readonly account: string
  readonly project: string
  readonly key: string
  readonly first: string | undefined
}

export function newTokens(count: number): Token[] {
  return Array.from({ length: count }, (_, index) => ({
    value: `eyJ${'a'.repeat(40)}.${'b'.repeat(40)}.${String(index).padStart(86, '0')}`,
    ...{ id: `t${index}`, user: `u${index % 5}`, account: `a${index % 3}`, project: `p${index % 4}` },
    ...{ key: `k${1 + (index % 2)}`, first: index % 4 === 3 ? `t${index - 1}` : undefined },
  }))
}

/** The tokens and keys that the directory has ended. */
export interface State {
  readonly ended: ReadonlySet<string>
  readonly keys: ReadonlySet<string>
}

/** Whether it counts for the token. */
export function concerns({ id, user, account, project, first }: Token, touched: Touched): boolean {
  if (typeof touched !== 'object') return touched === undefined
  const ids = { token: [id, first], user: [user], account: [account], project: [project], matrix: [] }
  return (ids[touched.thing] as (string | undefined)[]).includes(touched.id)
}

export function isInForce({ id, user, account, project, first }: Token, { ended }: State): boolean {
  const things = [`token ${id}`, `token ${first}`, `user ${user}`, `account ${account}`, `project ${project}`]
  return things.every((each) => !ended.has(each))
}

export function described(
  { id, user, account, project, first }: Token,
  active: boolean,
): Described['tokens'][number] {
  return {
    status: { active, addresses: [] },
    token: {
      ...{ kind: 'iam_token_account_scoped', scope: { account }, projectId: project, tokenId: id },
      ...{ subject: { id: user, name: user, type: 'service_user' }, issuedAtMs: WALL_MS },
      ...{ expiresAtMs: 2 * WALL_MS, ...(first !== undefined && { derivedFrom: [first] }) },
    },
  }
}

/** Everything that waits for nothing but answers that are there has gone on. */
export async function settled(): Promise<void> {
  for (let time = 0; time < 12; time++) await undefined
}
