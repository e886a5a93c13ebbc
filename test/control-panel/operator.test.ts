/**
 * The views of operators beside the directory: who may see them, the facts about callers and keys, and that
 * none of them is a secret.
 */
import { hash } from 'node:crypto'
import { mkdtempSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { KEY_AGE_MS_MAX } from '../../sidecar/authority/keys.ts'
import { dnsName } from '../../sidecar/base/certificate-name.ts'
import type { UserRecord } from '../../sidecar/directory/directory.ts'
import { keysViewOf } from '../../sidecar/process/open/key-facts.ts'
import type { OpenCertificates } from '../../sidecar/process/open/open-certificates.ts'
import { type Caller, type CallerRights, Callers } from '../../sidecar/usecases/callers.ts'
import type { KeysView } from '../../sidecar/usecases/control-panel/facts.ts'
import { OperatorViews } from '../../sidecar/usecases/control-panel/operator.ts'
import { OF_CALLER_MAX } from '../../sidecar/usecases/control-panel/tail.ts'
import type { Requester } from '../../sidecar/usecases/requester.ts'
import { CERTIFICATE } from '../support/proxies/self-signed.ts'
import { newDecisionLog } from '../support/signals/decision-log.ts'

const NOW = Date.UTC(2026, 10, 22)
const NOTHING: CallerRights = {
  everything: false,
  read: false,
  revoke: false,
  follow: false,
  administer: new Set(),
}
const FROM = { protocol: 'http', address: '127.0.0.1' } as const

function caller(name: string, rights: Partial<CallerRights>, more: Partial<Caller> = {}): Caller {
  return {
    ...{ name, tokenSha256: hash('sha256', `token of ${name}`), certificateName: undefined },
    ...{ profiles: new Set<string>(), rights: { ...NOTHING, ...rights }, expiresAtMs: undefined },
    ...more,
  }
}

const CALLERS = [
  caller('root', { everything: true }),
  caller('reader', { read: true }, { profiles: new Set(['b', 'a']), expiresAtMs: NOW + 1 }),
  caller('revoker', { revoke: true }, { expiresAtMs: NOW }),
  caller(
    'clerk',
    { administer: new Set(['2', '1']) },
    { tokenSha256: undefined, certificateName: dnsName('clerk.example') },
  ),
]

function operator(name: string): Requester {
  const found = CALLERS.find((each) => each.name === name) as Caller
  const identifiedBy = { type: 'token', digest: Buffer.alloc(32) } as const
  return { type: 'operator', caller: { ...found, identifiedBy }, from: FROM }
}

/** An owner may do everything in their account, and no account is every account. */
const OWNER = {
  ...{ type: 'user', user: { type: 'control_panel_user', account: '1', owner: true, roles: [] } },
  ...{ from: FROM, clientAddress: undefined, ownersFromAnywhere: true },
} as unknown as Requester & { user: UserRecord }

const KEYS: KeysView = {
  ...{ signing: [], signs: true, certificates: [] },
  ...{ pepper: { writtenAtMs: null }, administratorToken: null },
}

const NONE = { users: 0, projects: 0 }
const LEFT = { unmarked: { users: 3, projects: 1 }, due: NONE, kept: NONE }

function viewsOf(decisions?: ReturnType<typeof newDecisionLog>['log']) {
  const callers = new Callers(CALLERS, () => NOW)
  const operatorFacts = { workers: 2, keys: async () => KEYS, left: () => LEFT }
  return new OperatorViews({ callers, decisions, operatorFacts, now: () => NOW })
}

test.each<[who: string, requester: Requester, reason: string | undefined]>([
  ['a caller with `everything`', operator('root'), undefined],
  ['a caller with `read`', operator('reader'), undefined],
  ['a caller with `revoke`', operator('revoker'), 'CALLER_RIGHT_MISSING'],
  ['a caller with `administer`', operator('clerk'), 'CALLER_RIGHT_MISSING'],
  ['an owner', OWNER, 'NOT_ADMINISTRATOR'],
])('%s sees callers, keys and decisions as their rights say', async (_who, requester, reason) => {
  const views = viewsOf(newDecisionLog().log)
  for (const view of ['callers', 'keys', 'left', 'listen'] as const) {
    const look = expect((async () => views[view](requester))())
    if (reason === undefined) await look.resolves.toBeDefined()
    else await look.rejects.toMatchObject({ reason })
  }
})

test('callers are shown with their rights and their end, without what identifies them', () => {
  const shown = viewsOf().callers(operator('root'))
  const none = { everything: false, read: false, revoke: false, follow: false, administer: [] }
  expect(shown).toEqual([
    {
      ...{ name: 'root', rights: { ...none, everything: true }, profiles: [], identifiedBy: ['token'] },
      ...{ expiresAtMs: null, expired: false },
    },
    {
      ...{ name: 'reader', rights: { ...none, read: true }, profiles: ['a', 'b'], identifiedBy: ['token'] },
      ...{ expiresAtMs: NOW + 1, expired: false },
    },
    {
      ...{ name: 'revoker', rights: { ...none, revoke: true }, profiles: [], identifiedBy: ['token'] },
      ...{ expiresAtMs: NOW, expired: true },
    },
    {
      ...{ name: 'clerk', rights: { ...none, administer: ['1', '2'] }, profiles: [] },
      ...{ identifiedBy: ['certificate'], expiresAtMs: null, expired: false },
    },
  ])
  const text = JSON.stringify(shown)
  for (const { tokenSha256 } of CALLERS) if (tokenSha256) expect(text).not.toContain(tokenSha256)
})

test('a user who is not an operator learns who may look', () => {
  expect(() => viewsOf().callers(OWNER)).toThrow('only an operator may do this')
})

test('decisions need a decision log, and a listener learns what the lines are', () => {
  expect(() => viewsOf().listen(operator('root'))).toThrow(
    'there is no decision log: `decision_log` in the configuration switches it on',
  )
  const { listener, ...facts } = viewsOf(newDecisionLog({ samplePercent: 10 }).log).listen(operator('root'))
  expect(facts).toEqual({ samplePercent: 10, workers: 2 })
  listener.close()
})

test('all who listen are counted together', () => {
  const views = viewsOf(newDecisionLog().log)
  const listening = Array.from({ length: OF_CALLER_MAX }, () => views.listen(operator('root')))
  expect(() => views.listen(operator('root'))).toThrow('too many watches of this caller')
  for (const { listener } of listening) listener.close()
})

test('keys are shown with their states and ages, and no secret', () => {
  const data = mkdtempSync(join(tmpdir(), 'portcullis-keys-'))
  const secret = 'a1'.repeat(32)
  for (const name of ['static-token-pepper', 'administrator-token']) {
    writeFileSync(join(data, name), secret)
    utimesSync(join(data, name), NOW / 1_000, NOW / 1_000)
  }
  const sinceMs = NOW - KEY_AGE_MS_MAX
  const keys = [
    { keyId: '01', state: 'active', sinceMs },
    { keyId: '02', state: 'staged', sinceMs },
  ] as const
  const view = (nowMs: number, on = true, folder = data) =>
    keysViewOf(
      {
        config: { data: folder, administrator_token: on },
        authority: () => ({ keys, signs: true }),
        certificates: { grpc: undefined, http: undefined },
      },
      nowMs,
    )
  expect(view(NOW)).toEqual({
    signing: [
      { id: '01', state: 'active', sinceMs, createdAtMs: null, old: false },
      { id: '02', state: 'staged', sinceMs, createdAtMs: sinceMs, old: false },
    ],
    ...{ signs: true, certificates: [] },
    ...{ pepper: { writtenAtMs: NOW }, administratorToken: { writtenAtMs: NOW } },
  })
  expect(view(NOW + 1).signing.map(({ old }) => old)).toEqual([true, false])
  expect(view(NOW, false).administratorToken).toBe(null)
  expect(view(NOW, true, join(data, 'missing'))).toMatchObject({
    ...{ pepper: { writtenAtMs: null }, administratorToken: null },
  })
  expect(JSON.stringify(view(NOW))).not.toContain(readFileSync(join(data, 'static-token-pepper'), 'utf8'))
})

test('each certificate in force is shown with its end, those of the authorities of clients too', () => {
  const DAY_MS = 86_400_000
  const current = {
    certificate: Buffer.from(CERTIFICATE),
    key: Buffer.from('a secret'),
    clientCa: Buffer.from(`${CERTIFICATE}${CERTIFICATE}`),
  }
  const certificates = { grpc: { current }, http: undefined } as unknown as OpenCertificates
  const at = (nowMs: number) =>
    keysViewOf(
      {
        config: { data: 'missing', administrator_token: false },
        authority: () => ({ keys: [], signs: false }),
        certificates,
      },
      nowMs,
    ).certificates
  const shown = at(NOW)
  const [first] = shown
  const endsAtMs = first?.endsAtMs ?? 0
  expect(new Date(endsAtMs).toISOString()).toMatch(/^2036-11-19T/)
  expect(first).toEqual({
    ...{ what: 'grpc.tls.certificate', subject: 'CN=server.example', endsAtMs, state: 'valid' },
  })
  expect(shown.map(({ what }) => what)).toEqual([
    ...['grpc.tls.certificate', 'grpc.tls.client_ca', 'grpc.tls.client_ca'],
  ])
  expect([30 * DAY_MS, 30 * DAY_MS - 1, 1, 0].map((before) => at(endsAtMs - before)[0]?.state)).toEqual([
    ...['valid', 'ends_soon', 'ends_soon', 'ended'],
  ])
  expect(JSON.stringify(shown)).not.toContain('secret')
})
