/**
 * Creating, copying and reissuing an IAM token of one's own. The token is in memory while its page is open,
 * and no longer.
 */
import { useCallback, useEffect, useState } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { copyText } from '../../ui/parts.tsx'
import { useApi } from '../context.tsx'
import { msOf } from '../model/dates.ts'
import { apiErrorOf } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import { type OwnToken, ownTokenOf } from '../model/own.ts'
import { useUser } from './use-user.ts'

interface Shown {
  /** The project that it is for. */
  readonly project: string
  /** `undefined`: there is none to be copied. */
  readonly token: OwnToken | undefined
  readonly said: string
}

interface OwnTokenState {
  /** Until when the token works that there is; `undefined`: there is none, or it is not known yet. */
  readonly expiresAtMs: number | undefined
  readonly shown: Shown | undefined
  /** Makes the first one. One that is found to exist is left. @throws ApiError */
  readonly create: () => Promise<void>
  /** @throws ApiError */
  readonly copy: () => Promise<void>
  /** @throws ApiError */
  readonly reissue: () => Promise<void>
}

/** Why there is no token to be copied. */
const NONE: readonly string[] = ['NOT_FOUND', 'CREDENTIAL_EXPIRED', 'CREDENTIAL_REVOKED']

/** A name of a project is typed letter by letter. */
const TYPING_MS = 300

/** @param project name of the project, empty: not chosen yet; `undefined`: the token is for the account */
export function useOwnToken(project: string | undefined): OwnTokenState {
  const { directory } = useApi()
  const { account, name } = useUser()
  const which = { account, name, project: project ?? '' }
  const [shown, setShown] = useState<Shown | undefined>(undefined)
  const [there, setThere] = useState<{ readonly expiresAtMs: number } | undefined>(undefined)
  const ask = useCallback(
    async (signal?: AbortSignal) => {
      const request = { account, name, project: project ?? '' }
      const { active, expiresAt } = await directory.getControlPanelUserToken(request, {
        ...(signal && { signal }),
      })
      return active ? { expiresAtMs: msOf(expiresAt) ?? 0 } : undefined
    },
    [directory, account, name, project],
  )
  useEffect(() => {
    setThere(undefined)
    const stop = new AbortController()
    const look = () =>
      ask(stop.signal).then(
        (found) => stop.signal.aborted || setThere(found),
        // Whether there is one is asked again before one is made.
        () => {},
      )
    const timer = project === '' ? undefined : setTimeout(look, project === undefined ? 0 : TYPING_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
      // Another project drops the token of the one before.
      setShown(undefined)
    }
  }, [ask, project])

  const take = (token: OwnToken | undefined, said: string) => {
    setThere(token && { expiresAtMs: token.expiresAtMs ?? 0 })
    setShown({ project: which.project, token, said })
  }
  const copy = async () => {
    try {
      const { token } = await directory.copyControlPanelUserToken(which)
      const own = token && ownTokenOf(token)
      const copied = own !== undefined && (await copyText(own.value))
      take(own, copied ? texts.tokens.copied : texts.tokens.notCopied)
    } catch (error) {
      const found = apiErrorOf(error)
      if (!NONE.includes(found.reason)) throw error
      // It has ended since the page was opened.
      take(undefined, messageOf(found))
    }
  }
  const issue = async (said: string) => {
    const { token } = await directory.reissueControlPanelUserToken(which)
    take(token && ownTokenOf(token), said)
  }
  const create = async () => {
    const found = await ask()
    if (found === undefined) return issue(texts.tokens.created)
    setThere(found)
    setShown({ project: which.project, token: undefined, said: texts.tokens.found })
  }
  return {
    ...{ expiresAtMs: there?.expiresAtMs, create, copy },
    shown: shown?.project === which.project ? shown : undefined,
    reissue: () => issue(texts.tokens.issued),
  }
}
