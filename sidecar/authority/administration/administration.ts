/** The part of administration in the embedded authority. The operations are use cases. */
import type { Engine } from '../../../engine/index.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import type { DirectoryStore } from '../../directory/store.ts'
import type { ControlPanel } from '../control-panel/control-panel.ts'
import type { PanelTokens } from '../panel-tokens.ts'
import type { SecretMaker } from './secrets.ts'

export interface Administration {
  readonly directory: DirectoryStore
  /** The records of the directory now, outside of any change. */
  readonly records: DirectoryRecords
  readonly secrets: SecretMaker
  readonly panelTokens: PanelTokens
  /** Links and sessions of the control panel, loaded when they are first asked for. */
  readonly controlPanel: () => Promise<ControlPanel>
  /** That of the matrix in force. */
  readonly engine: () => Engine
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}
