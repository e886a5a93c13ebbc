/** Where a control panel user is logged in, as a hook, and the ends of those sessions. */
import { useCallback } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { useApi, useSession, useToast } from '../context.tsx'
import { allPages, WHOLE_PAGE } from '../model/all-pages.ts'
import { apiErrorOf } from '../model/errors.ts'
import { type Holder, type OwnSession, ownSessionOf } from '../model/own.ts'
import { type Loaded, useLoaded } from './use-loaded.ts'

interface Sessions {
  readonly loaded: Loaded<readonly OwnSession[]>
  /** Id of the session that the page is shown in. */
  readonly here: string
  /** All but that one. */
  readonly others: readonly OwnSession[]
  /** @throws ApiError */
  readonly end: (session: OwnSession) => Promise<void>
  /** One after the other, so that those which ended are gone from the list. @throws ApiError */
  readonly endOthers: () => Promise<void>
}

export function useSessions({ account, name: userName }: Holder): Sessions {
  const { directory } = useApi()
  const { id: here } = useSession()
  const say = useToast()
  const loaded = useLoaded<readonly OwnSession[]>(
    useCallback(
      (signal) =>
        allPages(async (pageToken) => {
          const request = { account, userName, pageSize: WHOLE_PAGE, pageToken }
          const { sessions, nextPageToken } = await directory.listSessions(request, { signal })
          return { rows: sessions.map(ownSessionOf), nextPageToken }
        }),
      [directory, account, userName],
    ),
  )
  const others = (loaded.value ?? []).filter(({ id }) => id !== here)
  const end = async ({ id }: OwnSession) => {
    try {
      await directory.endSession({ account, userName, id })
    } catch (error) {
      // It has ended by itself meanwhile.
      if (apiErrorOf(error).reason !== 'NOT_FOUND') throw error
    }
    loaded.change((before) => before.filter((each) => each.id !== id))
  }
  const endOthers = async () => {
    for (const session of others) await end(session)
    say({ text: texts.sessions.endedOthers(others.length) })
  }
  return { loaded, here, others, end, endOthers }
}
