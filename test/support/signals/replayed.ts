/** A decision log with every question, and its replay under another matrix. */
import { compile, type Matrix } from '../../../engine/index.ts'
import type { Verification } from '../../../sidecar/authority/authority.ts'
import { Replay } from '../../../sidecar/signals/decision-log/replay.ts'
import { checkClaims, checkCredentials } from '../../../sidecar/usecases/check.ts'
import { type LoggedLine, newDecisionLog } from './decision-log.ts'

const HEADERS = { day_pass: 'X-Day-Pass', room_key: 'X-Room-Key' } as const
type Kind = keyof typeof HEADERS

/** Every question of both sorts that differs for the matrix, answered under it. */
export async function logUnder(
  matrix: Matrix,
  strict = false,
): Promise<{ text: string; lines: readonly LoggedLine[] }> {
  const engine = compile(matrix, { strict })
  const { log, kept, listener } = newDecisionLog({ bytesMax: 1 << 28 })
  const asker = { connection: undefined, listener }
  const apis = ['lobby', 'library', 'cellar', 'attic']
  const scopes = [{ account: '1' }, { account: '1', project: 'p' }, { account: '' }, undefined]
  const targets = [undefined, { account: '1' }, { account: '2' }]
  for (const api of apis)
    for (const target of targets) {
      for (const kind of [...Object.keys(HEADERS), 'master_key'])
        for (const scope of scopes) checkClaims({ engine }, { api, kind, scope, target }, listener)
      for (const kind of Object.keys(HEADERS) as Kind[])
        for (const header of Object.values(HEADERS))
          for (const verification of verificationsOf(kind)) {
            const authority = { recognize: () => undefined, verify: () => verification }
            checkCredentials(
              { engine, authority, verifier: authority },
              { api, headers: [[header, 'a-token']], target, clientAddress: undefined },
              asker,
            )
          }
      checkCredentials(
        { engine, authority: NOBODY, verifier: NOBODY },
        { api, headers: [], target, clientAddress: undefined },
        asker,
      )
    }
  await log.close()
  return { text: Buffer.from(kept.text, 'latin1').toString(), lines: kept.lines }
}

const NOBODY = {
  recognize: () => undefined,
  verify: (): Verification => ({ ok: false, reason: 'CREDENTIAL_INVALID' }),
}

function verificationsOf(kind: Kind): Verification[] {
  const scope = kind === 'day_pass' ? { account: '1' } : { account: '1', project: 'p' }
  const token = {
    ...{ kind, scope, subject: { id: 'u', name: 'n', type: 'guest' } },
    ...{ tokenId: 't', issuedAtMs: 0, expiresAtMs: undefined },
  }
  return [
    { ok: true, token },
    { ok: false, reason: 'CREDENTIAL_REVOKED', token },
    { ok: false, reason: 'CREDENTIAL_INVALID' },
  ]
}

export function replayed(lines: readonly LoggedLine[], matrix: Matrix, strict?: boolean) {
  const [lenient, strictly] = [false, true].map((mode) => compile(matrix, { strict: strict ?? mode }))
  const replay = new Replay((mode) => (mode ? strictly : lenient) as ReturnType<typeof compile>)
  for (const line of lines) replay.add(line)
  return replay
}
