/**
 * The rules that the page shows, or why it shows none. A user sees them after a login, and no longer after a
 * logout.
 */
import type { ComponentType } from 'preact'
import { useCallback, useRef, useState } from 'preact/hooks'
import type { Refusal } from '../model/refusal.ts'
import type { Rules } from '../model/rules.ts'
import { texts } from '../texts/en/explorer.ts'
import type { ControlPanel } from './control-panel.ts'
import type { Verify } from './page.ts'

export interface Shown {
  readonly rules: Rules
  /** `undefined`: no sidecar served the page, or it answers no calls over HTTP. */
  readonly verify: Verify | undefined
  /** Whether the sidecar has the control panel. */
  readonly controlPanel: boolean
}

export interface Refused extends Refusal {
  readonly rules?: undefined
  /** The view in place of the explorer. */
  readonly Locked: ComponentType<LockedProps>
}

export interface LockedProps {
  readonly refusal: Refusal
  /** `undefined`: there is none, or it is not loaded yet. */
  readonly panel: ControlPanel | undefined
  /** Asks for the rules again. */
  readonly again: (callerToken: string) => Promise<void>
}

/** Asks the sidecar for its rules. Rejects where it does not answer. */
export type AskRules = (callerToken?: string) => Promise<Shown | Refused>

/**
 * @param first what was answered when the page was opened
 * @param ask `undefined`: the page has its rules in itself
 * @returns `again` asks again; `changed` is called when the user has logged in or out
 */
export function useRules(first: Shown | Refused, ask: AskRules | undefined) {
  const [given, setGiven] = useState(first)
  const current = useRef(first)
  const asked = useRef(0)
  const again = useCallback(
    async (callerToken?: string): Promise<void> => {
      const number = ++asked.current
      const answer = await ask?.(callerToken)
      // The shown rules stay: only another page load brings a newer matrix.
      if (answer === undefined || number !== asked.current || (answer.rules && current.current.rules)) return
      current.current = answer
      setGiven(answer)
    },
    [ask],
  )
  const changed = useCallback(
    (loggedIn: boolean): void => {
      if (loggedIn && current.current.rules) return
      again().catch(() => {
        if (current.current.rules) return
        current.current = { ...current.current, needsCredential: false, message: texts.broken.matrix }
        setGiven(current.current)
      })
    },
    [again],
  )
  return { given, again, changed }
}
