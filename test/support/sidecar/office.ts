/** Operations of administration in this process: the requester, by what they present, and the outcome. */
import { join } from 'node:path'
import { PanelChange } from '../../../sidecar/directory/panel-change.ts'
import { openSqlite } from '../../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import {
  type Administering,
  administer,
  type OperationName,
  type OperationRequest,
  type OperationResult,
  requesterOf,
} from '../../../sidecar/usecases/administration/administer.ts'
import type { Listed, PageRequest } from '../../../sidecar/usecases/administration/paging.ts'
import { type Caller, Callers } from '../../../sidecar/usecases/callers.ts'
import { ChangeRates } from '../../../sidecar/usecases/change-rates.ts'
import type { MatrixRollout } from '../../../sidecar/usecases/matrix-rollout.ts'
import type { Identifying, PresentedCredentials } from '../../../sidecar/usecases/requester.ts'
import { whenTheFileEnds } from '../suite/resources.ts'
import { byToken, callerNamed, digestOf, openPeople, outcomeOf, presenting } from './services.ts'

const DAY_MS = 86_400_000

type People = Pick<Awaited<ReturnType<typeof openPeople>>, 'folder' | 'userNamed'>

/** Begins sessions in a data folder that is open, and gives the SHA-256 of their secrets. */
export function openSessions({ folder, userNamed }: People, now: () => number) {
  const store = new DirectoryStore(openSqlite(join(folder, 'directory.sqlite')), now)
  whenTheFileEnds(() => store.close())
  let sessions = 0
  /** @param who name of a user, or a caller */
  return async (who: string | Caller): Promise<Buffer> => {
    const hash = digestOf(`session ${++sessions}`)
    const holder =
      typeof who === 'string' ? await userNamed(who) : { caller: who.name, digest: who.tokenSha256 ?? '' }
    const session = { hash, holder, way: 'password', endsAtMs: now() + DAY_MS }
    await store.change('a test', (change) =>
      new PanelChange(change).beginSession({ ...session, address: '192.0.2.7', client: '' }),
    )
    return hash
  }
}

type ListName = Extract<OperationName, `list${string}`>

export type Services = Identifying & Administering

/**
 * The people of an account, and callers: `root` with every right, `reader`, and `clerk`, who administers the
 * account.
 */
export async function openOffice(account: string, now: () => number, rollout = {} as MatrixRollout) {
  const people = await openPeople(account, now)
  const callers = new Callers([
    callerNamed('root', { everything: true }),
    callerNamed('reader', { read: true }),
    callerNamed('clerk', { administer: new Set([account]) }),
  ])
  const unlimited = { burst: 1_000, administratorPerMinute: 1_000, userPerMinute: 1_000 }
  const services: Services = {
    ...{ ...people, callers, rollout, controlPanel: await people.administration.controlPanel() },
    changeRates: new ChangeRates(unlimited),
  }
  const begin = openSessions(people, now)
  /** The outcome of an operation; a refusal as its reason and its message. */
  const ask = <Name extends OperationName>(
    credentials: PresentedCredentials,
    operation: Name,
    request: OperationRequest<Name>,
    given: Partial<Services> = {},
  ): Promise<OperationResult<Name> | string> =>
    outcomeOf<OperationResult<Name>>(async () => {
      const all = { ...services, ...given }
      const requester = await requesterOf(all, operation, credentials)
      return administer(all, { requester, operation, request })
    })
  /** Does it as an operator. */
  const done = async <Name extends OperationName>(
    operation: Name,
    request: OperationRequest<Name>,
    given: Partial<Services> = {},
  ): Promise<OperationResult<Name>> => {
    const outcome = await ask(byToken('root'), operation, request, given)
    if (typeof outcome === 'string') throw new TypeError(outcome)
    return outcome
  }
  /** A whole list, read by pages of one. */
  const listed = async <Name extends ListName>(
    operation: Name,
    request: Omit<OperationRequest<Name>, keyof PageRequest>,
  ): Promise<unknown[]> => {
    const found: unknown[] = []
    let pageToken = ''
    do {
      const page = { ...request, pageSize: 1, pageToken } as OperationRequest<Name>
      const { items, nextPageToken } = (await done(operation, page)) as Listed<unknown>
      if (items.length !== 1) throw new TypeError(`a page has ${items.length} items`)
      found.push(...items)
      pageToken = nextPageToken
    } while (pageToken !== '' && found.length < 20)
    return found
  }
  /** Presents a new session of a user. */
  const logIn = async (name: string) => presenting({ session: await begin(name) })
  return { ...people, callers, services, ask, done, listed, logIn }
}
