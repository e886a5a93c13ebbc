/** A session in a list: where it is, since when, and its end. */
import { useState } from 'preact/hooks'
import { texts as shared } from '../../texts/en/panel.ts'
import { texts } from '../../texts/en/profile.ts'
import { focusNext } from '../../ui/focus.ts'
import { goTo, usePanel, useToast } from '../context.tsx'
import { clientOf } from '../model/client.ts'
import { apiErrorOf, GIVEN_UP } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import type { OwnSession } from '../model/own.ts'
import { ActButton } from './act-button.tsx'
import { Fact, Item } from './items.tsx'
import { Distance, Moment } from './time.tsx'

interface SessionItemProps {
  readonly session: OwnSession
  /** The one that this page is shown in. */
  readonly isHere: boolean
  /** Why the viewer may not end it. */
  readonly why?: string | undefined
  /** @throws ApiError */
  readonly end: (session: OwnSession) => Promise<void>
}

export function SessionItem({ session, isHere, why, end }: SessionItemProps) {
  const { panel } = usePanel()
  const say = useToast()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
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
  const act = (button: HTMLButtonElement) => {
    const next = neighbourOf(button)
    return attempt(async () => {
      await end(session)
      focusNext(() => next, button)
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
          <ActButton
            text={texts.sessions.end}
            label={texts.sessions.endNamed(client, session.address)}
            why={why}
            busy={busy}
            act={act}
            kind="danger"
          />
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

/**
 * Where the focus goes when an item goes: the button of the next one, or of the one before, or the title of
 * the list.
 */
function neighbourOf(button: Element): HTMLElement | null {
  const item = button.closest('li')
  const neighbour = item?.nextElementSibling ?? item?.previousElementSibling
  return neighbour?.querySelector('button') ?? button.closest('section')?.querySelector('h3') ?? null
}
