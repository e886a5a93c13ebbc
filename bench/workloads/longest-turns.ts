/**
 * For how long work on all of a large directory blocks the event loop of its sidecar at most, while it
 * answers checks.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, connect } from '../../clients/typescript/index.ts'
import { ADMINISTRATOR_TOKEN_FILE } from '../../sidecar/base/data-folder.ts'
import { connectLoad } from '../harness/contender.ts'
import { BUSY } from '../harness/grpc.ts'
import { runPortcullis } from '../servers/portcullis.ts'
import { startSidecarOn } from '../servers/start.ts'
import { DUE, type LargeSite } from './large-site.ts'
import { SignedTokens } from './tokens.ts'

/** The work, by the id of its row. */
export const TURNS = {
  start: 'after the start, while a thread looks for damage',
  backup: 'a backup, with changes meanwhile',
  'restore-check': 'a check of the backup',
  doctor: '`portcullis doctor`',
  'audit-search': 'a search of the audit trail that finds nothing',
  'audit-export': 'an export of the audit trail',
  lists: 'lists of all users and projects',
  removal: 'a removal of the rows of a deleted account',
} as const
export type Turn = keyof typeof TURNS

export const TURNS_METHOD =
  'Between two turns of the event loop of a sidecar, one each millisecond if it is idle, the processor time of its thread is noted; the largest counts. Checks of IAM tokens are asked meanwhile, 8 connections × 16 in flight.'

export interface TurnsEffort {
  /** How long it is looked at after the start and after a backup, in milliseconds. */
  readonly afterMs: number
  /** From the start of the sidecar, in milliseconds. A removal begins after a minute. */
  readonly removalMs: number
  /** Checks that are asked at once. */
  readonly calls: number
}

const TOKENS = 200
/** As administration has it at most. */
const PAGE_SIZE = 1_000

/**
 * @param launcher of the installed package; default: that of this checkout
 * @returns milliseconds of processor time of each
 */
export async function longestTurns(
  stack: AsyncDisposableStack,
  site: LargeSite,
  { afterMs, removalMs, calls }: TurnsEffort,
  launcher?: string,
): Promise<Record<Turn, number>> {
  const { folder, backup: file } = site
  const { account } = site.large.account
  const words = (...given: readonly string[]) => runPortcullis(given, { ...(launcher && { launcher }) })
  const first = await Watched.start(stack, site, calls, launcher)
  const { client } = first
  const place = ['--data', folder]
  const turns = {
    start: await first.during(() => delay(afterMs)),
    backup: await first.during(async () => {
      await besides(words('backup', file, ...place), () => revoke(client))
      await delay(afterMs)
    }),
    'restore-check': await first.during(() => words('restore', file, '--check', ...place)),
    doctor: await first.during(() => words('doctor', ...place, '--http', 'off', '--grpc', '127.0.0.1:0')),
    'audit-search': await first.during(() =>
      everyPage((page) => client.directory.listAuditRecords({ ...page, actor: 'no such actor' })),
    ),
    'audit-export': await first.during(() => everyPage((page) => client.directory.listAuditRecords(page))),
    lists: await first.during(async () => {
      const { directory } = client
      for (const list of ['listServiceUsers', 'listControlPanelUsers', 'listProjects'] as const)
        await everyPage((page) => directory[list]({ ...page, account }))
    }),
  }
  await first.stop()
  await site.deleteAccount()
  const second = await Watched.start(stack, site, calls, launcher)
  const removal = await second.during(() => delay(removalMs))
  await second.stop()
  return { ...turns, removal }
}

type Sidecar = Awaited<ReturnType<typeof startSidecarOn>>

/** A sidecar that answers checks all the time. */
class Watched {
  readonly #server: Sidecar
  readonly #check: () => Promise<unknown>
  readonly client: Client

  private constructor(server: Sidecar, check: () => Promise<unknown>, client: Client) {
    this.#server = server
    this.#check = check
    this.client = client
  }

  static async start(
    stack: AsyncDisposableStack,
    { folder, demo }: LargeSite,
    calls: number,
    launcher: string | undefined,
  ): Promise<Watched> {
    const server = await startSidecarOn(folder, { environment: DUE, ...(launcher && { launcher }) })
    stack.defer(() => server.stop())
    // The first question begins to watch.
    await server.longestBlockMicroseconds()
    const callerToken = readFileSync(join(folder, ADMINISTRATOR_TOKEN_FILE), 'utf8').trim()
    const client = connect(server.ready.grpc, { callerToken, deadlineMs: 60_000 })
    stack.defer(() => client.close())
    const load = await connectLoad(server.ready.grpc, BUSY, stack)
    const tokens = await SignedTokens.of(folder, { ...server.ready, http: 'off', demo }, load)
    stack.defer(() => tokens.close())
    const workload = tokens.workload(TOKENS)
    return new Watched(server, () => load.run(workload, calls), client)
  }

  /** @returns the longest turn while the work is done, in milliseconds of processor time */
  async during(work: () => Promise<unknown>): Promise<number> {
    await this.#server.longestBlockMicroseconds()
    await besides(work(), this.#check)
    return (await this.#server.longestBlockMicroseconds()) / 1_000
  }

  async stop(): Promise<void> {
    this.client.close()
    await this.#server.stop()
  }
}

/** Does something over and over, at least once, until the work is done. */
async function besides(work: Promise<unknown>, again: () => Promise<unknown>): Promise<void> {
  let isDone = false
  const end = () => {
    isDone = true
  }
  work.then(end, end)
  do await again()
  while (!isDone)
  await work
}

function revoke(client: Client): Promise<unknown> {
  return client.revoke({ tokenId: randomBytes(16).toString('base64url') })
}

async function everyPage(
  list: (page: { pageSize: number; pageToken: string }) => Promise<{ nextPageToken: string }>,
): Promise<void> {
  for (let pageToken = ''; ; ) {
    const { nextPageToken } = await list({ pageSize: PAGE_SIZE, pageToken })
    if (nextPageToken === '') return
    pageToken = nextPageToken
  }
}
