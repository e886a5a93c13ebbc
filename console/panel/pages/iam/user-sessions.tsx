/** Where a control panel user is logged in. */
import { useCallback, useRef } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { useApi, useToast } from '../../context.tsx'
import { apiErrorOf, GIVEN_UP } from '../../model/errors.ts'
import type { ControlPanelUser, PanelSession } from '../../model/iam-records.ts'
import type { Why } from '../../model/may.ts'
import { messageOf } from '../../model/messages.ts'
import { Distance, msOf } from '../../parts/time.tsx'
import { Act } from './records.tsx'
import { useLoad } from './use-load.ts'

const { sessions: words, shared } = texts

/** More than a user can have. */
const PAGE_SIZE = 200

interface SessionsProps {
  readonly user: ControlPanelUser
  readonly why: Why | undefined
}

export function UserSessions({ user: { account, name }, why }: SessionsProps) {
  const api = useApi()
  const say = useToast()
  const load = useCallback(
    async (signal: AbortSignal): Promise<readonly PanelSession[]> =>
      (await api.directory.listSessions({ account, userName: name, pageSize: PAGE_SIZE }, { signal }))
        .sessions,
    [api, account, name],
  )
  const { value: sessions, error, reload } = useLoad(load)
  const title = useRef<HTMLHeadingElement>(null)
  const end = async (ended: readonly PanelSession[]) => {
    try {
      for (const { id } of ended) await api.directory.endSession({ account, userName: name, id })
      say({ text: ended.length === 1 ? words.ended : words.endedAll(ended.length) })
    } catch (failure) {
      const found = apiErrorOf(failure)
      if (found.reason !== GIVEN_UP) say({ text: messageOf(found), kind: 'failed' })
    }
    reload()
    // The button goes with its session.
    title.current?.focus()
  }
  return (
    <section>
      <header class="section-head">
        <h3 ref={title} tabIndex={-1}>
          {words.title}
        </h3>
        {sessions !== undefined && sessions.length > 1 && (
          <Act text={words.endAll} why={why} act={() => void end(sessions)} quiet />
        )}
      </header>
      {error !== undefined && (
        <p role="alert">
          {shared.failed} {messageOf(error)}{' '}
          <button type="button" class="link" onClick={reload}>
            {shared.retry}
          </button>
        </p>
      )}
      {sessions?.length === 0 && <p class="hint">{words.empty}</p>}
      <ul class="lines">
        {sessions?.map((session) => (
          <li key={session.id}>
            <span>
              {words.from(session.address || words.unknown)}
              <span class="hint">
                {session.client} {words.used} <Distance ms={msOf(session.lastUsedAt) ?? 0} />
              </span>
            </span>
            <Act
              text={words.end}
              label={words.endOf(session.address || words.unknown)}
              why={why}
              act={() => void end([session])}
              quiet
            />
          </li>
        ))}
      </ul>
    </section>
  )
}
