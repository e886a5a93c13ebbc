/**
 * Where a control panel user is logged in. An administrator may end those sessions, and is not logged out by
 * that.
 */
import { useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { texts as profile } from '../../../texts/en/profile.ts'
import type { ControlPanelUser } from '../../model/iam-records.ts'
import type { Why } from '../../model/may.ts'
import { shownSessions } from '../../model/own.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { Items } from '../../parts/items.tsx'
import { LoadedView } from '../../parts/loaded-view.tsx'
import { SessionItem } from '../../parts/session-item.tsx'
import { useSessions } from '../../parts/use-sessions.ts'
import { Act } from './records.tsx'

const { sessions: words } = texts

interface SessionsProps {
  readonly user: ControlPanelUser
  readonly why: Why | undefined
}

export function UserSessions({ user, why }: SessionsProps) {
  const { loaded, here, others, end, endOthers } = useSessions(user)
  const [asking, setAsking] = useState(false)
  const isOwn = loaded.value !== undefined && others.length < loaded.value.length
  const confirm = isOwn ? profile.sessions.confirm : words.confirm(user.name)
  return (
    <section>
      <header class="section-head">
        <h3 tabIndex={-1}>{words.title}</h3>
        {others.length > 1 && (
          <Act text={confirm.button} why={why} act={() => setAsking(true)} quiet danger />
        )}
      </header>
      <LoadedView loaded={loaded}>
        {(all) =>
          all.length === 0 ? (
            <p class="hint">{words.empty}</p>
          ) : (
            <Items label={words.title} items={shownSessions(all, here)} keyOf={({ id }) => id}>
              {(session) => (
                <SessionItem
                  session={session}
                  isHere={session.id === here}
                  why={why && texts.why[why]}
                  end={end}
                />
              )}
            </Items>
          )
        }
      </LoadedView>
      {asking && <AskFirst {...confirm} close={() => setAsking(false)} act={endOthers} />}
    </section>
  )
}
