/** The properties of every page of the explorer. */
import type { Engine } from '../../engine/index.ts'
import type { Mode, Rules } from '../model/rules.ts'
import type { Circumstances, Headers, Verdict } from '../model/verify.ts'
import type { View } from '../model/view.ts'
import type { Go } from './use-view.ts'

/** Asks the sidecar that served the page. */
export type Verify = (api: string, headers: Headers, circumstances: Circumstances) => Promise<Verdict>

export interface PageProps {
  readonly rules: Rules
  readonly mode: Mode
  /** The engine of the mode. */
  readonly engine: Engine
  readonly view: View
  readonly go: Go
  /** `undefined`: no sidecar served the page, or it answers no calls over HTTP. */
  readonly verify: Verify | undefined
}
