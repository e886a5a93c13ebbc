/**
 * A fleet: followers on two hubs, whose directory is in PostgreSQL. How long until the last one has heard of
 * a revocation, the memory of a hub for a follower, and the effects of a very large change, of followers that
 * forget everything, and of killing a hub.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { newClaims } from '../../sidecar/authority/iam-claims.ts'
import { IamTokenSigner } from '../../sidecar/authority/iam-token.ts'
import { KeyRing } from '../../sidecar/authority/keys.ts'
import { SIGNING_KEYS_FILE } from '../../sidecar/base/data-folder.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { openPostgres } from '../../sidecar/directory/postgres.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { PostgresServer } from '../../test/support/postgres/server.ts'
import { connectLoad } from '../harness/contender.ts'
import { BUSY, CHECK_PATH } from '../harness/grpc.ts'
import { type Latencies, latencyOf } from '../harness/latency.ts'
import { comparedRow, singleRow } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { requirePostgres } from '../servers/postgres.ts'
import { startSidecar, startSidecarOn } from '../servers/start.ts'
import { checkQuestion } from '../workloads/checks.ts'
import { Followers } from '../workloads/followers.ts'
import { Herd } from '../workloads/herd.ts'
import { shippedEngine } from '../workloads/questions.ts'
import { newDataFolder } from '../workloads/tokens.ts'

export const fleetSuite: Suite = { name: 'fleet', run }

interface Effort {
  readonly sizes: readonly number[]
  readonly revocations: number
  /** The herd: the number of followers, tokens and records, and how many times the change is made. */
  readonly herd: {
    readonly followers: number
    readonly tokens: number
    readonly records: number
    readonly rounds: number
    readonly calls: number
  }
  /** The large change: the number of followers and of records, and how many times it is made. */
  readonly large: {
    readonly followers: number
    readonly records: number
    readonly rounds: number
    readonly calls: number
  }
}

const SIZES: Record<Size, Effort> = {
  full: {
    ...{ sizes: [100, 1_000, 10_000], revocations: 20 },
    herd: { followers: 100, tokens: 1_000, records: 12_000, rounds: 5, calls: 20_000 },
    large: { followers: 1_000, records: 100_000, rounds: 5, calls: 20_000 },
  },
  smoke: {
    ...{ sizes: [4], revocations: 2 },
    herd: { followers: 4, tokens: 50, records: 12_000, rounds: 2, calls: 200 },
    large: { followers: 4, records: 12_000, rounds: 2, calls: 200 },
  },
}

/** Of each hub, for the followers. */
const CALLER_TOKEN = 'follower-caller-token-0123456789abcdef'

const METHOD =
  'Half of the followers on each of two sidecars, 100 streams on a connection, all of one process. Another process commits a revocation in PostgreSQL; the time runs from its beginning until a follower has read its response. The value is the median over the revocations of the time of the last follower; the percentiles are over all followers and revocations. Driver, hubs and PostgreSQL share the processors.'
const LARGE_METHOD =
  'The 99th percentile of the latency of checks at one of the hubs, 8 connections × 16 in flight: while a change is made and until the last follower has a revocation after it, and in as many calls after that. The change is one transaction, and the records are written by one statement. The suite fails if a follower has the revocation later than two seconds after the change.'
const HERD_METHOD =
  'The 99th percentile of the latency of checks of tokens at a hub, 8 connections × 16 in flight: from a change after which the hub and all of its followers forget everything until each follower has asked about each of its tokens again, and in as many calls after that. The followers run the code of a sidecar, in a thread with a lower priority because other hosts have their own processors, and ask about all of their tokens as soon as they forget them, and again after an error. The suite fails if one knows them later than a minute after the change.'
/** Also where the hub has little of a busy machine: its own callers come first. */
const HERD_MS = 60_000
/** The staleness bound of the followers. */
const BOUND_MS = 5_000
/** After a change of any size. */
const IN_STEP_MS = 2_000
/** After that the next revocation is made. */
const HEARD_MS = 500
const MEMORY_METHOD =
  'Resident memory of a hub after a garbage collection, with its followers and before them, divided by their number.'
const FAILOVER_METHOD =
  'One of the two hubs is killed. Its followers ask the other one for the stream, from the position that they know; the time runs until the last one has its first response.'
const TIER_METHOD =
  'A sidecar without a directory follows one of the hubs. The time from the beginning of a revocation until a follower of that sidecar has read it, against that of a follower of the hub, in the same revocations.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const effort = SIZES[size]
  const ids = [
    ...effort.sizes.map((count) => `last-of-${count}`),
    ...['herd', 'herd-in-step', 'large-change', 'memory', 'failover', 'tier'],
  ]
  const skips = new Skips()
  const programs = await skips.obtain(ids, requirePostgres)
  if (programs === undefined) return { rows: [], skipped: skips.list, answersChecked: 0 }
  const server = await PostgresServer.start(programs)
  stack.defer(() => server.remove())
  const fleet = await Fleet.start(stack, await server.newDatabase())
  const rows: Row[] = await fleet.herdRows(effort.herd)
  for (const count of effort.sizes) {
    rows.push(await fleet.lastOf(count, effort))
    if (count === effort.large.followers) rows.push(await fleet.largeChangeRow(effort.large))
  }
  rows.push(fleet.memoryRow(), await fleet.tierRow(effort), await fleet.failoverRow())
  return { rows, skipped: [], answersChecked: rows.length }
}

type Sidecar = Awaited<ReturnType<typeof startSidecarOn>>

/** Two hubs on one database, and their followers. */
class Fleet {
  readonly #hubs: readonly [Sidecar, Sidecar]
  readonly #followers: readonly [Followers, Followers]
  readonly #store: DirectoryStore
  readonly #stack: AsyncDisposableStack
  readonly #configuration: string
  #bytesPerFollower: number[] = []

  private constructor(
    stack: AsyncDisposableStack,
    hubs: readonly [Sidecar, Sidecar],
    store: DirectoryStore,
    configuration: string,
  ) {
    this.#stack = stack
    this.#hubs = hubs
    this.#store = store
    this.#configuration = configuration
    const [one, other] = hubs
    this.#followers = [
      new Followers(one.ready.grpc, CALLER_TOKEN),
      new Followers(other.ready.grpc, CALLER_TOKEN),
    ]
    stack.defer(() => {
      for (const followers of this.#followers) followers.close()
    })
  }

  static async start(stack: AsyncDisposableStack, url: string): Promise<Fleet> {
    const folder = newDataFolder(stack)
    // For the keys, which hosts of a directory share.
    const first = await startSidecar({ flags: ['--data', folder] })
    await first.stop()
    const token = join(folder, 'follower-token')
    writeFileSync(token, CALLER_TOKEN, { mode: 0o600 })
    const configuration = join(folder, 'portcullis.yaml')
    writeFileSync(configuration, `callers: [{ name: follower, token_file: ${token}, rights: [follow] }]\n`)
    const start = async () => {
      const hub = await startSidecarOn(folder, {
        flags: ['--config', configuration],
        environment: { PORTCULLIS_DIRECTORY_URL: url },
      })
      stack.defer(() => hub.stop())
      return hub
    }
    const hubs = [await start(), await start()] as const
    const store = new DirectoryStore(
      await openPostgres({ url: new Secret(url), poolSize: 2, timeoutMs: 10_000 }),
      Date.now,
    )
    stack.defer(() => store.close())
    await store.change('a benchmark', (change) => change.createAccount('fleet'))
    return new Fleet(stack, hubs, store, configuration)
  }

  async lastOf(count: number, { revocations }: Effort): Promise<Row> {
    const more = count / 2 - this.#followers[0].size
    const before = await Promise.all(this.#hubs.map((hub) => hub.residentBytes()))
    for (const followers of this.#followers) await followers.open(more)
    const after = await Promise.all(this.#hubs.map((hub) => hub.residentBytes()))
    this.#bytesPerFollower = after.map((bytes, index) => (bytes - (before[index] ?? 0)) / more)
    const last: number[] = []
    const all: number[] = []
    for (let time = 0; time < revocations; time++) {
      const { ownMs } = await this.#revoke(...this.#followers)
      const delays = ownMs.flat()
      last.push(Math.max(...delays))
      all.push(...delays)
    }
    return singleRow(
      {
        id: `last-of-${count}`,
        what: `until the last of ${count.toLocaleString('en')} followers has a revocation`,
        method: METHOD,
      },
      {
        name: 'two hubs',
        value: medianOf(last),
        unit: 'ms',
        latency: { ...percentilesOf(all), inFlight: count },
      },
    )
  }

  /** All followers of a hub, and the hub, forget everything at the same moment. */
  async herdRows({ followers, tokens: count, records, rounds, calls }: Effort['herd']): Promise<Row[]> {
    const [hub] = this.#hubs
    const tokens = await this.#newTokens(count)
    const herd = await Herd.start({
      ...{ address: hub.ready.grpc, callerToken: CALLER_TOKEN, followers, tokens, stalenessMs: BOUND_MS },
      folder: newDataFolder(this.#stack),
    })
    this.#stack.defer(() => herd.close())
    const questions = tokens.map((token) =>
      checkQuestion({ api: 'iam', credentials: [['X-Auth-Token', token]] }),
    )
    const inStepMs: number[] = []
    let errors = 0
    const compared = await this.#checksWhile(questions, { rounds, calls }, async () => {
      const inStep = herd.inStep()
      await this.#largeChange(records)
      const changedAtMs = performance.now()
      errors += (await inStep).failed
      const tookMs = performance.now() - changedAtMs
      if (tookMs > HERD_MS) throw new Error(`the last follower knew its tokens ${tookMs} ms after a change`)
      inStepMs.push(tookMs)
    })
    const many = `${followers.toLocaleString('en')} followers that forget ${count.toLocaleString('en')} tokens each`
    return [
      comparedRow(
        { id: 'herd', what: `checks at a hub of ${many}, p99`, method: HERD_METHOD },
        'µs',
        { name: 'until all are known again', samples: compared.during },
        { name: 'afterwards', samples: compared.quiet },
      ),
      singleRow(
        {
          id: 'herd-in-step',
          what: `from the change until the last of ${many} knows them again`,
          method: HERD_METHOD,
        },
        { name: `one hub, ${errors} checks with an error`, value: medianOf(inStepMs), unit: 'ms' },
      ),
    ]
  }

  /** IAM tokens of a service user, signed with the keys of the hubs. */
  async #newTokens(count: number): Promise<string[]> {
    const kind = shippedEngine().tokenKinds.get('iam_token_account_scoped')
    if (kind === undefined) throw new Error('the shipped matrix has no account-scoped IAM token')
    const holder = await this.#store.change('a benchmark', async (change) => {
      const account = await change.records.account('fleet')
      if (account === undefined) throw new Error('the account of the benchmark is missing')
      const user = { name: 'job', type: 'service_user', passwordHash: 'there are no logins' } as const
      const id = await change.createUser(account, user)
      await change.setPermissions({ id, account: 'fleet', name: user.name }, [{ scope: 'account' }])
      return { ...user, id, generation: 1 }
    })
    const changeNumber = await this.#store.records.changeNumber()
    const ring = new KeyRing(join(this.#configuration, '..', SIGNING_KEYS_FILE), Date.now(), {
      onRefused: () => {},
    })
    const signer = new IamTokenSigner(ring)
    const tokens = Array.from({ length: count }, () =>
      signer.sign(
        newClaims({
          ...{
            names: signer.names,
            holder,
            kind,
            scope: { account: 'fleet' },
            projectId: undefined,
            changeNumber,
          },
          nowMs: Date.now(),
        }),
      ),
    )
    ring.close()
    return tokens
  }

  async largeChangeRow({ followers, records, rounds, calls }: Effort['large']): Promise<Row> {
    const question = checkQuestion({ api: 'iam', credentials: [] })
    const compared = await this.#checksWhile([question], { rounds, calls }, () => this.#inStepAfter(records))
    return comparedRow(
      {
        id: 'large-change',
        what: `checks at a hub of ${followers.toLocaleString('en')} followers, a change of ${records.toLocaleString('en')} records, p99`,
        method: LARGE_METHOD,
      },
      'µs',
      { name: 'while it is made', samples: compared.during },
      { name: 'afterwards', samples: compared.quiet },
    )
  }

  /** The 99th percentiles of checks at a hub while something is done, and in as many calls after it. */
  async #checksWhile(
    questions: readonly Buffer[],
    { rounds, calls }: { readonly rounds: number; readonly calls: number },
    work: () => Promise<void>,
  ): Promise<{ during: number[]; quiet: number[] }> {
    const [hub] = this.#hubs
    const load = await connectLoad(hub.ready.grpc, BUSY, this.#stack)
    const answerBytes: number[] = []
    for (const question of questions)
      answerBytes.push((await load.ask(CHECK_PATH, [question]))[0]?.length ?? 0)
    const workload = { path: CHECK_PATH, questions, answerBytes }
    await load.run(workload, calls)
    const samples: { during: number[]; quiet: number[] } = { during: [], quiet: [] }
    for (let round = 0; round < rounds; round++) {
      let isOver = false
      const done = work().finally(() => {
        isOver = true
      })
      const during: Latencies[] = []
      while (!isOver) during.push(await load.run(workload, calls))
      await done
      const quiet: Latencies[] = []
      for (const _run of during) quiet.push(await load.run(workload, calls))
      samples.during.push(latencyOf(during).p99Microseconds)
      samples.quiet.push(latencyOf(quiet).p99Microseconds)
    }
    return samples
  }

  /** Makes a change of that many records. @throws Error if a follower is late with what comes after it */
  async #inStepAfter(records: number): Promise<void> {
    await this.#largeChange(records)
    // A revocation that a hub reads together with the change is not named: all is void then.
    for (const madeAtMs = performance.now(); ; ) {
      const heard = this.#revoke(...this.#followers).then(() => true)
      if (await Promise.race([heard, delay(HEARD_MS, false)])) return
      if (performance.now() - madeAtMs > IN_STEP_MS)
        throw new Error(`a follower was not in step within ${IN_STEP_MS} ms of a change`)
    }
  }

  async #largeChange(records: number): Promise<void> {
    await this.#store.change('a benchmark', async ({ writer }) => {
      writer.last(
        `INSERT INTO audit (at_ms, actor, action, account, subject, details, touches)
         SELECT :at, 'a benchmark', 'service_user.disable', 'fleet', '', '{}', 'user:' || number
         FROM generate_series(1, :records) AS number`,
        { at: writer.nowMs, records: records - 1 },
      )
      writer.record('account.enable', { account: 'fleet', name: 'fleet' })
    })
  }

  memoryRow(): Row {
    return singleRow(
      { id: 'memory', what: 'memory of a hub for each follower', method: MEMORY_METHOD },
      { name: 'one of many followers', value: medianOf(this.#bytesPerFollower), unit: 'bytes' },
    )
  }

  /** A second tier: a sidecar that follows a hub, and a follower of that sidecar. */
  async tierRow({ revocations }: Effort): Promise<Row> {
    const folder = newDataFolder(this.#stack)
    const [hub] = this.#hubs
    const configuration = join(folder, '..', 'second.yaml')
    const token = join(this.#configuration, '..', 'follower-token')
    const follows = `directory: { hub: { addresses: ['${hub.ready.grpc}'], token_file: ${token} } }\n`
    writeFileSync(configuration, `${readFileSync(this.#configuration, 'utf8')}${follows}`)
    const second = await startSidecarOn(folder, { flags: ['--config', configuration] })
    this.#stack.defer(() => second.stop())
    const [ofHub, ofSecond] = [hub, second].map(({ ready }) => new Followers(ready.grpc, CALLER_TOKEN)) as [
      Followers,
      Followers,
    ]
    await Promise.all([ofHub.open(1), ofSecond.open(1)])
    const samples: { hub: number[]; second: number[] } = { hub: [], second: [] }
    for (let time = 0; time < revocations; time++) {
      const { ownMs } = await this.#revoke(ofHub, ofSecond)
      samples.hub.push(...(ownMs[0] ?? []))
      samples.second.push(...(ownMs[1] ?? []))
    }
    for (const followers of [ofHub, ofSecond]) followers.close()
    return comparedRow(
      { id: 'tier', what: 'revocation on another host, a hub between', method: TIER_METHOD },
      'ms',
      { name: 'a hub between', samples: samples.second },
      { name: 'none', samples: samples.hub },
    )
  }

  async failoverRow(): Promise<Row> {
    const [lost, left] = this.#hubs
    const [ofLost, ofLeft] = this.#followers
    const count = ofLost.size
    const { told } = ofLost
    const again = new Followers(left.ready.grpc, CALLER_TOKEN)
    lost.kill()
    const beganAtMs = performance.now()
    await again.open(count, told)
    const tookMs = performance.now() - beganAtMs
    const bound = told?.validForMs ?? 0
    if (tookMs > bound)
      throw new Error(`the last follower went on after ${tookMs} ms, and its bound is ${bound}`)
    // Those who changed hear of the next revocation, like those who did not.
    await this.#revoke(again, ofLeft)
    again.close()
    return singleRow(
      {
        id: 'failover',
        what: `until the last of ${count.toLocaleString('en')} followers of a killed hub goes on at the other one`,
        method: FAILOVER_METHOD,
      },
      { name: 'the hub that is left', value: tookMs, unit: 'ms' },
    )
  }

  /** How long each took to hear of a revocation, in milliseconds, by their hub. */
  async #revoke(...fleets: readonly Followers[]): Promise<{ ownMs: number[][] }> {
    const tokenId = randomBytes(16).toString('base64url')
    const heard = fleets.map((followers) => followers.hear(tokenId))
    const revokedAtMs = performance.now()
    await this.#store.change('a benchmark', (change) => change.revoke(tokenId, 'fleet'))
    const times = await Promise.all(heard)
    return { ownMs: times.map((each) => each.map((atMs) => atMs - revokedAtMs)) }
  }
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}

function percentilesOf(ms: readonly number[]) {
  const sorted = [...ms].sort((a, b) => a - b)
  const at = (share: number) =>
    1_000 * (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)
  return { p50Microseconds: at(0.5), p99Microseconds: at(0.99), calls: ms.length }
}
