/**
 * `WatchChanges`: who may follow, what a follower learns of each change, and for how long it may go on.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { readKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { run } from '../../sidecar/usecases/administration/run.ts'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox, type Message, refusalOf } from '../support/contract/black-box.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import {
  ACCOUNT,
  issued,
  OTHER_ACCOUNT,
  populate,
  runSidecar,
  type SidecarOptions,
} from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const FOLLOWER = 'follower-caller-token-0123456789abcdef'
const READER = 'reader-caller-token-0123456789abcdef'
const CALLERS = `callers:
  - { name: follower, token_file: ${newFile(FOLLOWER)}, rights: [follow] }
  - { name: reader, token_file: ${newFile(READER)}, rights: [read, revoke] }
`

interface Voided {
  readonly everything: boolean
  readonly token_ids: readonly string[]
  readonly user_ids: readonly string[]
  readonly accounts: readonly string[]
  readonly project_ids: readonly string[]
}

interface Told extends Message {
  readonly position: { readonly change: number; readonly recorded_at: Message }
  readonly rules: { readonly matrix: { readonly rules_digest: string } } | null
  readonly voided: Voided | null
  readonly valid_for: Message
  readonly sent_at: { readonly seconds: number; readonly nanos: number }
}

/** A follower, and the responses that it got. */
class Follower {
  readonly told: Told[] = []
  error: unknown
  readonly #call: ReturnType<BlackBox['follow']>

  constructor(box: BlackBox, request: Message = {}, callerToken = FOLLOWER) {
    this.#call = box.follow('watchChanges', request, callerToken === '' ? {} : { callerToken })
    this.#call.on('data', (told: Told) => this.told.push(told))
    this.#call.on('error', (error) => {
      this.error = error
    })
    whenTheFileEnds(() => this.leave())
  }

  leave(): void {
    this.#call.cancel()
  }

  /** The position from which a later stream goes on. */
  get place(): Message {
    return { after: (this.told.at(-1) as Told).position }
  }

  /** Everything that was void, in order, without the first response. */
  get voided(): Voided[] {
    return this.told.slice(1).flatMap(({ voided }) => voided ?? [])
  }

  /** Resolves when the follower got the rules. */
  async began(): Promise<this> {
    await eventually(() => this.told.length > 0)
    return this
  }
}

const NOTHING = { everything: false, token_ids: [], user_ids: [], accounts: [], project_ids: [] }

async function start(options: SidecarOptions = {}) {
  const running = await runSidecar({ config: newFile(CALLERS, 'portcullis.yaml'), ...options })
  const secrets = await populate(running)
  const box = new BlackBox(running.address)
  return {
    ...{ running, secrets, box },
    directory: running.sidecar.administration,
    follow: (request?: Message) => new Follower(box, request).began(),
    check: async (value: string) =>
      (await box.ask('check', credentialQuestion('balance', 'X-Auth-Token', value))) as Message & {
        readonly token: { readonly token_id: string; readonly subject: { readonly id: string } }
        readonly position: Told['position'] | null
      },
  }
}

const shared = await start()

describe('callers that may follow', () => {
  test.each<[who: string, callerToken: string, refused: object]>([
    ['not a caller with other rights', READER, { code: 'PERMISSION_DENIED', reason: 'CALLER_RIGHT_MISSING' }],
  ])('%s', async (_who, callerToken, refused) => {
    const follower = new Follower(shared.box, {}, callerToken)
    await eventually(() => follower.error !== undefined)
    expect(refusalOf(follower.error)).toMatchObject(refused)
    expect(follower.told).toEqual([])
  })

  test('an administrator', async () => {
    const token = readFileSync(join(shared.running.folder, 'administrator-token'), 'utf8').trim()
    await new Follower(shared.box, {}, token).began()
  })

  test('a caller until its right is taken away', async () => {
    const config = newFile(CALLERS, 'portcullis.yaml')
    const { running, follow } = await start({ config })
    const follower = await follow()
    writeFileSync(config, CALLERS.replace('rights: [follow]', 'rights: [read]'))
    running.sidecar.reload()
    await eventually(() => follower.error !== undefined)
    expect(refusalOf(follower.error)).toMatchObject({ reason: 'CALLER_RIGHT_MISSING' })
  })
})

describe('a follower learns', () => {
  test('the rules and that everything is void first, and then at least every second for how long it may go on', async () => {
    const { follow } = shared
    const follower = await follow()
    const [first] = follower.told
    expect(first?.voided).toEqual({ ...NOTHING, everything: true })
    expect(first?.rules?.matrix.rules_digest).toBe(shared.running.sidecar.rulesDigest)
    await eventually(() => follower.told.length >= 4)
    const sent = follower.told.map(({ sent_at: { seconds, nanos } }) => seconds * 1_000 + nanos / 1e6)
    for (const [index, told] of follower.told.entries()) {
      expect(told.valid_for).toEqual({ seconds: 5, nanos: 0 })
      if (index > 0) expect([told.rules, told.voided]).toEqual([null, null])
      if (index > 0) expect(sent[index]).toBeGreaterThan(sent[index - 1] ?? 0)
    }
  })

  test('for as long as the staleness bound of the sidecar', async () => {
    const { follow } = await start({ flags: { 'directory.staleness_ms': 1_500 } })
    const follower = await follow()
    expect(follower.told[0]?.valid_for).toEqual({ seconds: 1, nanos: 500_000_000 })
  })

  test('the ids that each change touches, and no more of it', async () => {
    const { running, secrets, directory, follow, check } = await start()
    const follower = await follow()
    const { value, tokenId } = await issued(running, secrets)
    const { token } = await check(value)
    await run(directory, TESTER, 'updateServiceUser', { account: ACCOUNT, name: 'nothing', enabled: false })
    const project = await run(directory, TESTER, 'createProject', { account: ACCOUNT, name: 'gamma' })
    await run(directory, TESTER, 'deleteProject', { account: ACCOUNT, name: 'gamma' })
    await run(directory, TESTER, 'updateAccount', { account: OTHER_ACCOUNT, enabled: false })
    await running.client.revoke({ value })
    await eventually(() => follower.voided.some(({ token_ids: ids }) => ids.includes(tokenId)))
    const all = (of: 'user_ids' | 'accounts' | 'project_ids' | 'token_ids') =>
      follower.voided.flatMap((each) => each[of])
    expect(all('user_ids')).toHaveLength(1)
    expect(all('user_ids')).not.toContain(token.subject.id)
    expect(all('project_ids')).toEqual([project.id])
    expect(all('accounts')).toEqual([OTHER_ACCOUNT])
    expect(all('token_ids')).toEqual([tokenId])
    expect(follower.voided.some(({ everything }) => everything)).toBe(false)
    expect(JSON.stringify(follower.told.slice(1))).not.toContain('gamma')
  })

  test('of the accounts that it asks for, and of no other', async () => {
    const { directory, follow } = await start()
    const follower = await follow({ accounts: [OTHER_ACCOUNT] })
    await run(directory, TESTER, 'updateAccount', { account: ACCOUNT, enabled: false })
    await run(directory, TESTER, 'updateAccount', { account: OTHER_ACCOUNT, enabled: false })
    await eventually(() => follower.voided.length > 0)
    expect(follower.voided).toEqual([{ ...NOTHING, accounts: [OTHER_ACCOUNT] }])
  })

  test('the position of each answer that it may remember, in order', async () => {
    const { running, secrets, follow, check, directory } = await start()
    const follower = await follow()
    const { value } = await issued(running, secrets)
    const before = await check(value)
    expect(before.position).not.toBeNull()
    await eventually(() => follower.told.some(({ position }) => position.change === before.position?.change))
    await run(directory, TESTER, 'updateAccount', { account: OTHER_ACCOUNT, enabled: false })
    await eventually(async () => {
      const { position } = await check(value)
      return (position?.change ?? 0) > (before.position?.change ?? 0)
    })
    const changes = follower.told.map(({ position }) => position.change)
    expect(changes).toEqual([...changes].sort((a, b) => a - b))
  })

  test('the ids that became void since the position that it knows, where that is known', async () => {
    const { directory, follow } = await start()
    const first = await follow()
    const { place } = first
    first.leave()
    await run(directory, TESTER, 'updateAccount', { account: OTHER_ACCOUNT, enabled: false })
    const again = await follow(place)
    expect(again.told[0]?.voided).toEqual({ ...NOTHING, accounts: [OTHER_ACCOUNT] })
    const now = again.place
    const still = await follow(now)
    expect(still.told[0]?.voided).toBeNull()
    const after = now.after as Message
    for (const basis of ['', 'of other keys']) {
      const follower = await follow({ ...now, after: { ...after, basis } })
      expect(follower.told[0]?.voided).toEqual({ ...NOTHING, everything: true })
    }
    // Of the future, and of another directory.
    for (const change of [{ change: 1_000_000 }, { recorded_at: { seconds: 1, nanos: 0 } }]) {
      const follower = new Follower(shared.box, { ...now, after: { ...after, ...change } })
      await eventually(() => follower.error !== undefined)
      expect(refusalOf(follower.error)).toMatchObject({ reason: 'DIRECTORY_CHANGES_LOST' })
      expect(follower.told).toEqual([])
    }
  })

  test('new rules', async () => {
    const path = join(newFolder(), 'matrix.json')
    const replace = (title: string, kinds: object = {}) => {
      const tokenKinds = supportMatrix.tokenKinds.map((kind) => ({ ...kind, ...kinds }))
      writeFileSync(`${path}.new`, JSON.stringify({ ...supportMatrix, title, tokenKinds }))
      renameSync(`${path}.new`, path)
    }
    replace('first')
    const { running, follow } = await start({ flags: { matrix: path, matrix_poll_ms: 5 } })
    const follower = await follow()
    const before = running.sidecar.rulesDigest
    replace('second')
    await eventually(() => follower.told.slice(1).some(({ rules }) => rules !== null))
    const rules = follower.told.slice(1).flatMap(({ rules }) => rules ?? [])
    expect(rules.map(({ matrix }) => matrix.rules_digest)).toEqual([running.sidecar.rulesDigest])
    expect(running.sidecar.rulesDigest).not.toBe(before)
    // The kinds ask for the same permissions, so what was said about tokens is still true.
    expect(follower.voided).toEqual([])
    // Elsewhere a token would be known where it is in the wrong place now.
    replace('third', { header: 'Authorization', scheme: 'Bearer' })
    await eventually(() => follower.voided.length > 0)
    expect(follower.voided).toEqual([{ ...NOTHING, everything: true }])
  })

  test('that everything is void where a signing key is withdrawn, also after the follower was away', async () => {
    const { running, follow } = await start({ times: { keyPollMs: 5 } })
    const follower = await follow()
    const away = await follow()
    away.leave()
    const file = join(running.folder, 'signing-keys.json')
    const active = readKeys(file).find(({ state }) => state === 'active')
    withdrawKey(file, active?.keyId ?? '', Date.now() + 3_600_000)
    await eventually(() => follower.voided.some(({ everything }) => everything))
    const again = await follow(away.place)
    expect(again.told[0]?.voided).toEqual({ ...NOTHING, everything: true })
  })
})
