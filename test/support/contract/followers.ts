/** Streams of `WatchChanges` without a sidecar around them: of one host, which may follow. */
import type { CallContext, Responses } from '../../../sidecar/contract/call.ts'
import type { Wish } from '../../../sidecar/contract/change-messages.ts'
import { Followers } from '../../../sidecar/contract/followers.ts'
import { Watches } from '../../../sidecar/contract/watches.ts'
import type { Changes } from '../../../sidecar/directory/feed/changes.ts'
import { Callers } from '../../../sidecar/usecases/callers.ts'

type FollowersParts = ConstructorParameters<typeof Followers>[0]

interface Parts extends Pick<FollowersParts, 'basis' | 'now'> {
  readonly changes: Pick<Changes, 'followed' | 'knownForMs'> & Partial<Pick<Changes, 'has' | 'outage'>>
  readonly rules?: FollowersParts['rules']
}

const RIGHTS = { everything: false, revoke: false, read: false, follow: true, administer: new Set<string>() }
const NO_RULES = { parts: [], last: Buffer.alloc(0) }

export function followersOf({ changes, rules = () => NO_RULES, ...parts }: Parts) {
  let listener = () => {}
  const callers = new Callers([
    {
      ...{ name: 'host', tokenSha256: undefined, certificateName: 'dns:host.example' },
      ...{ profiles: new Set<string>(), rights: RIGHTS, expiresAtMs: undefined },
    },
  ])
  const watch = (given: () => void) => {
    listener = given
    return () => {
      listener = () => {}
    }
  }
  // The followed sidecar may be exchanged.
  const watched = Object.defineProperty(
    { has: () => true, outage: () => undefined, ...changes, watch },
    'followed',
    {
      get: () => changes.followed,
    },
  )
  const followers = new Followers({
    ...{ ...parts, callers, rules, changes: watched as unknown as Changes },
    timeOfDay: Date.now,
    watches: new Watches(callers, true, { ofConnection: 100_000, ofSource: 100_000, ofAll: 100_000 }),
  })
  const context: CallContext = {
    connection: { address: '127.0.0.1', certificateNames: ['dns:host.example'] },
    metadata: () => [],
  }
  return {
    followers,
    /** The action of the listener of changes: something is new. */
    tell: () => listener(),
    open: (reader: Responses, wish: Wish) =>
      followers.open(context, followers.expect(context, true), reader, wish),
  }
}
