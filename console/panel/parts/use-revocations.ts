/** Revocations of API keys as a hook: waiting ones are sent when the page is left, in any way. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { usePanel } from '../context.tsx'
import type { ApiKey } from '../model/keys.ts'
import type { Holder } from '../model/own.ts'
import { type Revocation, type Revocations, revocationsIn } from '../model/revocations.ts'

interface KeyRevocations {
  readonly revocations: Revocations<ApiKey>
  /** The last event, for screen readers. */
  readonly said: string
}

export function useRevocations({ account, name: userName }: Holder): KeyRevocations {
  const { api, panel, toaster } = usePanel()
  const [said, setSaid] = useState('')
  const [, redraw] = useState(0)
  const here = useRef(true)
  const revocations = useMemo(
    () =>
      revocationsIn<ApiKey>(({ id }) => id, {
        send: async ({ name }) => {
          await api.directory.revokeStaticToken({ account, userName, name })
        },
        // Not the time of day: that can be set while the seconds run.
        now: () => performance.now(),
        later: (ms, work) => {
          const timer = setTimeout(work, ms)
          return () => clearTimeout(timer)
        },
        changed: ({ name }, revocation) => {
          if (here.current) {
            redraw((before) => before + 1)
            setSaid(saidOf(name, revocation))
          } else if (revocation?.state === 'failed')
            toaster.say({ text: texts.keys.notRevoked(name), kind: 'failed', ms: 60_000 })
        },
      }),
    [api, toaster, account, userName],
  )
  useEffect(() => {
    here.current = true
    const leave = () => void revocations.leave()
    addEventListener('pagehide', leave)
    // Afterwards there is no session to send it with.
    const takeBack = panel.beforeLogOut(revocations.leave)
    return () => {
      here.current = false
      removeEventListener('pagehide', leave)
      takeBack()
      leave()
    }
  }, [revocations, panel])
  return { revocations, said }
}

function saidOf(name: string, revocation: Revocation | undefined): string {
  if (revocation === undefined) return texts.keys.said.undone(name)
  if (revocation.state === 'failed') return texts.keys.said.failed(name, revocation.message)
  return texts.keys.said[revocation.state](name)
}
