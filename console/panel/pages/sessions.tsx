/** Profile → Sessions: where a control panel user is logged in. */
import { useState } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { shownSessions } from '../model/own.ts'
import { AskFirst } from '../parts/ask-first.tsx'
import { Items } from '../parts/items.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Page } from '../parts/page.tsx'
import { SessionItem } from '../parts/session-item.tsx'
import { useSessions } from '../parts/use-sessions.ts'
import { useUser } from '../parts/use-user.ts'

export function SessionsPage() {
  const { loaded, here, others, end, endOthers } = useSessions(useUser())
  const [asking, setAsking] = useState(false)
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
      <LoadedView loaded={loaded}>
        {(all) => (
          <>
            <Items label={texts.sessions.list} items={shownSessions(all, here)} keyOf={({ id }) => id}>
              {(session) => <SessionItem session={session} isHere={session.id === here} end={end} />}
            </Items>
            {others.length === 0 && <p class="dim">{texts.sessions.alone}</p>}
          </>
        )}
      </LoadedView>
      {asking && <AskFirst {...texts.sessions.confirm} close={() => setAsking(false)} act={endOthers} />}
    </Page>
  )
}
