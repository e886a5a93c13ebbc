/** The static tokens of a control panel user, which an administrator may revoke. */
import { useCallback, useRef, useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { useApi, useToast } from '../../context.tsx'
import { apiErrorOf, GIVEN_UP } from '../../model/errors.ts'
import type { ControlPanelUser, StaticToken } from '../../model/iam-records.ts'
import type { Why } from '../../model/may.ts'
import { messageOf } from '../../model/messages.ts'
import { Day, Moment, msOf } from '../../parts/time.tsx'
import { usePages } from '../../parts/use-pages.ts'
import { Act, Name } from './records.tsx'

const { tokens: words, shared } = texts

interface TokensProps {
  readonly user: ControlPanelUser
  readonly why: Why | undefined
}

export function UserTokens({ user: { account, name: userName }, why }: TokensProps) {
  const api = useApi()
  const say = useToast()
  // What is announced, and not done yet: it can be undone for some seconds.
  const [going, setGoing] = useState<readonly string[]>([])
  const fetchPage = useCallback(
    async (pageToken: string, pageSize: number, signal: AbortSignal) => {
      const page = await api.directory.listStaticTokens(
        { account, userName, pageSize, pageToken },
        { signal },
      )
      return { rows: page.tokens, nextPageToken: page.nextPageToken }
    },
    [api, account, userName],
  )
  const pages = usePages<StaticToken>(fetchPage)
  const { rows, loading, error, next } = pages.paged
  const title = useRef<HTMLHeadingElement>(null)
  const shows = (id: string) => setGoing((ids) => ids.filter((each) => each !== id))
  const revoke = ({ name, tokenId }: StaticToken) => {
    setGoing((ids) => [...ids, tokenId])
    // The button goes with its row.
    title.current?.focus()
    say({
      text: words.revokedNow(name),
      undo: () => shows(tokenId),
      gone: async () => {
        try {
          const { token } = await api.directory.revokeStaticToken({ account, userName, name })
          pages.change(
            (row) => row.tokenId === tokenId,
            (row) => token ?? row,
          )
        } catch (failure) {
          const found = apiErrorOf(failure)
          if (found.reason !== GIVEN_UP) say({ text: messageOf(found), kind: 'failed' })
        }
        shows(tokenId)
      },
    })
  }
  const shown = rows.filter(({ tokenId }) => !going.includes(tokenId))
  return (
    <section>
      <h3 ref={title} tabIndex={-1}>
        {words.title}
      </h3>
      {error !== undefined && (
        <p role="alert">
          {shared.failed} {messageOf(error)}{' '}
          <button type="button" class="link" onClick={rows.length === 0 ? pages.reload : pages.more}>
            {shared.retry}
          </button>
        </p>
      )}
      {shown.length === 0 && !loading && error === undefined && <p class="hint">{words.empty}</p>}
      <ul class="lines">
        {shown.map((token) => (
          <Token key={token.tokenId} token={token} why={why} revoke={() => revoke(token)} />
        ))}
      </ul>
      {next !== undefined && !loading && error === undefined && (
        <button type="button" onClick={pages.more}>
          {words.more}
        </button>
      )}
    </section>
  )
}

interface TokenProps {
  readonly token: StaticToken
  readonly why: Why | undefined
  readonly revoke: () => void
}

function Token({ token, why, revoke }: TokenProps) {
  const { name, createdAt, revokedAt, lastUsedDay } = token
  return (
    <li>
      <span>
        <Name name={name} />
        <span class="hint">
          {shared.created} <Moment ms={msOf(createdAt)} />
          {' · '}
          {revokedAt === undefined ? (
            <>
              {words.used} <Day isoDate={lastUsedDay} />
            </>
          ) : (
            <>
              {words.revoked} <Moment ms={msOf(revokedAt)} />
            </>
          )}
        </span>
      </span>
      {revokedAt === undefined && (
        <Act text={words.revoke} label={words.revokeOf(name)} why={why} act={revoke} quiet danger />
      )}
    </li>
  )
}
