/** The options of `portcullis matrix test`. */
import type { RulesOptions } from '../../../read-rules.ts'

export interface TestOptions extends RulesOptions {
  readonly config?: string
  readonly filter?: string
  readonly coverage?: boolean
  readonly coverageMin?: number
  readonly format?: 'text' | 'json' | 'junit' | 'tap'
  readonly output?: string
  readonly watch?: boolean
  /** A path, or `true` for the default one. */
  readonly init?: string | true
}
