/**
 * Copying and reissuing an IAM token of one's own. The token is in memory while its page is open, and no
 * longer.
 */
import { useEffect, useState } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { copyText } from '../../ui/parts.tsx'
import { useApi } from '../context.tsx'
import { apiErrorOf } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import { type OwnToken, ownTokenOf } from '../model/own.ts'
import { useUser } from './use-user.ts'

interface Shown {
  /** What it is for. */
  readonly project: string
  /** `undefined`: there is none to be copied. */
  readonly token: OwnToken | undefined
  readonly said: string
}

interface OwnTokenState {
  readonly shown: Shown | undefined
  /** @throws ApiError */
  readonly copy: () => Promise<void>
  /** @throws ApiError */
  readonly reissue: () => Promise<void>
}

/** Why there is no token to be copied. */
const NONE: readonly string[] = ['NOT_FOUND', 'CREDENTIAL_EXPIRED', 'CREDENTIAL_REVOKED']

/** @param project name of the project; empty: the token is for the account */
export function useOwnToken(project: string): OwnTokenState {
  const { directory } = useApi()
  const { account, name } = useUser()
  const [shown, setShown] = useState<Shown | undefined>(undefined)
  // Another project drops the token of the one before.
  useEffect(() => () => setShown(undefined), [project])

  const copy = async () => {
    try {
      const { token } = await directory.copyControlPanelUserToken({ account, name, project })
      const own = token && ownTokenOf(token)
      const copied = own !== undefined && (await copyText(own.value))
      setShown({ project, token: own, said: copied ? texts.tokens.copied : texts.tokens.notCopied })
    } catch (error) {
      const found = apiErrorOf(error)
      if (!NONE.includes(found.reason)) throw error
      // The sidecar says what there is not, and that reissuing makes one.
      setShown({ project, token: undefined, said: messageOf(found) })
    }
  }
  const reissue = async () => {
    const { token } = await directory.reissueControlPanelUserToken({ account, name, project })
    setShown({ project, token: token && ownTokenOf(token), said: texts.tokens.issued })
  }
  return { shown: shown?.project === project ? shown : undefined, copy, reissue }
}
