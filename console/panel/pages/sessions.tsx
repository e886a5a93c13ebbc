/** Profile → Sessions: where a control panel user is logged in. */
import { useCallback, useRef, useState } from 'preact/hooks'
import { texts as shared } from '../../texts/en/panel.ts'
import { texts } from '../../texts/en/profile.ts'
import { goTo, useApi, usePanel, useSession, useToast } from '../context.tsx'
import { allPages, WHOLE_PAGE } from '../model/all-pages.ts'
import { clientOf } from '../model/client.ts'
import { apiErrorOf, GIVEN_UP } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import { type OwnSession, ownSessionOf, shownSessions } from '../model/own.ts'
import { AskFirst } from '../parts/ask-first.tsx'
import { Fact, Item, Items } from '../parts/items.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Page } from '../parts/page.tsx'
import { Distance, Moment } from '../parts/time.tsx'
import { type Loaded, useLoaded } from '../parts/use-loaded.ts'
import { useUser } from '../parts/use-user.ts'

export function SessionsPage() {
  const { account, name: userName } = useUser()
  const { id: here } = useSession()
  const { directory } = useApi()
  const say = useToast()
  const sessions = useSessions()
  const [asking, setAsking] = useState(false)
  const others = (sessions.value ?? []).filter(({ id }) => id !== here)
  const end = async ({ id }: OwnSession) => {
    try {
      await directory.endSession({ account, userName, id })
    } catch (error) {
      // It has ended by itself meanwhile.
      if (apiErrorOf(error).reason !== 'NOT_FOUND') throw error
    }
    sessions.change((before) => before.filter((each) => each.id !== id))
  }
  const endAll = async () => {
    for (const session of others) await end(session)
    say({ text: texts.sessions.endedOthers(others.length) })
  }
  return (
    <Page
      title={texts.sessions.title}
      about={texts.sessions.about}
      actions={
        others.length > 0 && (
          <button type="button" class="danger" onClick={() => setAsking(true)}>
            {texts.sessions.endOthers}
          </button>
        )
      }
    >
      <LoadedView loaded={sessions}>
        {(all) => (
          <>
            <Items label={texts.sessions.list} items={shownSessions(all, here)} keyOf={({ id }) => id}>
              {(session) => <SessionItem session={session} isHere={session.id === here} end={end} />}
            </Items>
            {others.length === 0 && <p class="dim">{texts.sessions.alone}</p>}
          </>
        )}
      </LoadedView>
      {asking && <AskFirst {...texts.sessions.confirm} close={() => setAsking(false)} act={endAll} />}
    </Page>
  )
}

interface SessionItemProps {
  readonly session: OwnSession
  /** The one that this page is shown in. */
  readonly isHere: boolean
  /** @throws ApiError */
  readonly end: (session: OwnSession) => Promise<void>
}

function SessionItem({ session, isHere, end }: SessionItemProps) {
  const { panel } = usePanel()
  const say = useToast()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const button = useRef<HTMLButtonElement>(null)
  const client = clientOf(session.client)
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true)
    setProblem('')
    try {
      await work()
    } catch (error) {
      const found = apiErrorOf(error)
      if (found.reason !== GIVEN_UP) setProblem(messageOf(found))
      setBusy(false)
    }
  }
  const act = () => {
    const next = neighbourOf(button.current)
    return attempt(async () => {
      await end(session)
      next?.focus()
      say({ text: texts.sessions.ended })
    })
  }
  const logOut = () =>
    attempt(async () => {
      await panel.logOut()
      goTo({ page: 'login', given: {} })
    })
  return (
    <Item
      title={<span title={session.client}>{client}</span>}
      badge={
        isHere && (
          <span class="badge" data-kind="good">
            {texts.sessions.here}
          </span>
        )
      }
      facts={<Facts session={session} />}
      actions={
        isHere ? (
          <button type="button" disabled={busy} onClick={logOut}>
            {shared.menu.logOut}
          </button>
        ) : (
          <button
            ref={button}
            type="button"
            class="danger"
            disabled={busy}
            aria-label={texts.sessions.endNamed(client, session.address)}
            onClick={act}
          >
            {texts.sessions.end}
          </button>
        )
      }
    >
      {problem !== '' && (
        <p class="item-note fault" role="alert">
          {problem}
        </p>
      )}
    </Item>
  )
}

function Facts({
  session: { address, createdAtMs, lastUsedAtMs, endsAtMs },
}: Pick<SessionItemProps, 'session'>) {
  return (
    <>
      {address !== '' && (
        <Fact name={texts.sessions.from}>
          <code>{address}</code>
        </Fact>
      )}
      <Fact name={texts.sessions.began}>
        <Moment ms={createdAtMs} />
      </Fact>
      {lastUsedAtMs !== undefined && (
        <Fact name={texts.sessions.lastUsed}>
          <Distance ms={lastUsedAtMs} />
        </Fact>
      )}
      <Fact name={texts.sessions.ends}>
        <Moment ms={endsAtMs} />
      </Fact>
    </>
  )
}

/** Where the focus goes when an item goes: the button of the next one, or of the one before. */
function neighbourOf(element: Element | null): HTMLElement | null {
  const item = element?.closest('li')
  const neighbour = item?.nextElementSibling ?? item?.previousElementSibling
  return neighbour?.querySelector('button') ?? null
}

function useSessions(): Loaded<readonly OwnSession[]> {
  const { directory } = useApi()
  const { account, name: userName } = useUser()
  return useLoaded(
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
}
