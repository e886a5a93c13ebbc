/** A key in the list, and its revocation, which can be undone for ten seconds. */
import { useEffect, useState } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import type { ApiKey } from '../model/keys.ts'
import { type Revocation, type Revocations, secondsLeft } from '../model/revocations.ts'
import { ActButton } from './act-button.tsx'
import { Fact, Item } from './items.tsx'
import { LastUse } from './last-use.tsx'
import { Distance, Moment } from './time.tsx'

interface ApiKeyItemProps {
  readonly item: ApiKey
  readonly revocations: Revocations<ApiKey>
  /** Why the viewer may not revoke it. */
  readonly why?: string | undefined
}

export function ApiKeyItem({ item, revocations, why }: ApiKeyItemProps) {
  const revocation = revocations.of(item.id)
  const state = revocation?.state ?? (item.revokedAtMs === undefined ? 'active' : 'revoked')
  return (
    <Item
      title={item.name}
      state={state}
      badge={<StateBadge state={state} />}
      facts={
        <>
          {item.note !== '' && <span class="item-remark">{item.note}</span>}
          {item.lastFour !== '' && (
            <Fact name={texts.keys.ends}>
              <code>{item.lastFour}</code>
            </Fact>
          )}
          <Fact name={texts.keys.created}>
            <Moment ms={item.createdAtMs} /> (<Distance ms={item.createdAtMs} />)
          </Fact>
          <LastUse isoDate={item.lastUsedDay} />
          {item.revokedAtMs !== undefined && (
            <Fact name={texts.keys.revokedAt}>
              <Moment ms={item.revokedAtMs} />
            </Fact>
          )}
        </>
      }
      actions={<Actions item={item} revocations={revocations} why={why} state={state} />}
    >
      {revocation?.state === 'waiting' && (
        <p class="item-note">
          <Countdown untilMs={revocation.untilMs} />
        </p>
      )}
      {revocation?.state === 'failed' && (
        <p class="item-note fault">{texts.keys.failed(revocation.message)}</p>
      )}
    </Item>
  )
}

type State = Revocation['state'] | 'active'

const KINDS = { waiting: 'warn', sending: 'warn', failed: 'bad', revoked: undefined } as const

function StateBadge({ state }: { readonly state: State }) {
  if (state === 'active') return null
  return (
    <span class="badge" data-kind={KINDS[state]}>
      {texts.keys.badges[state]}
    </span>
  )
}

function Actions({ item, revocations, why, state }: ApiKeyItemProps & { readonly state: State }) {
  const { id, name } = item
  const undo = (text: string) => (
    <button type="button" aria-label={texts.keys.of(text, name)} onClick={() => revocations.undo(id)}>
      {text}
    </button>
  )
  const send = (text: string) => (
    <button
      type="button"
      class="danger"
      aria-label={texts.keys.of(text, name)}
      onClick={() => void revocations.sendNow(id)}
    >
      {text}
    </button>
  )
  if (state === 'waiting')
    return (
      <>
        {undo(texts.keys.undo)}
        {send(texts.keys.now)}
      </>
    )
  if (state === 'failed')
    return (
      <>
        {send(texts.keys.again)}
        {undo(texts.keys.keep)}
      </>
    )
  if (state !== 'active') return null
  return (
    <ActButton
      text={texts.keys.revoke}
      label={texts.keys.of(texts.keys.revoke, name)}
      why={why}
      act={() => revocations.announce(item)}
      kind="danger"
    />
  )
}

/** The seconds as they run. Screen readers announce them once, when they begin. */
function Countdown({ untilMs }: { readonly untilMs: number }) {
  const [left, setLeft] = useState(() => secondsLeft(untilMs, performance.now()))
  useEffect(() => {
    const timer = setInterval(() => setLeft(secondsLeft(untilMs, performance.now())), 250)
    return () => clearInterval(timer)
  }, [untilMs])
  return <>{texts.keys.waiting(left)}</>
}
