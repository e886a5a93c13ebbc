/** The comparison with a second matrix, in this process and without a file. */
import { vi } from 'vitest'
import { compile, type Engine, type Scope } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import type { Rules } from '../../../sidecar/rules/rules.ts'
import type { DecisionListener } from '../../../sidecar/usecases/asker.ts'
import { checkClaims } from '../../../sidecar/usecases/check.ts'
import { ComparedShadow } from '../../../sidecar/usecases/compared-shadow.ts'
import { ACCOUNT_KIND } from '../matrices/engines.ts'
import { OTHER_CELLS } from '../matrices/shadow-matrices.ts'

export const SHIPPED: Engine = compile(supportMatrix)
export const OTHER: Engine = compile(OTHER_CELLS)

/** The time of the wall clock, in milliseconds since the epoch. */
export const clock = { nowMs: 1_800_000_000_000 }

/** Rules whose engine can be replaced, as a file of them is. */
function rulesWith(engine: Engine) {
  const watchers = new Set<() => void>()
  const rules = {
    engine,
    matrix: { title: 'kept' },
    watch: (watcher: () => void) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    reload: vi.fn(),
    close: vi.fn(),
    replace: (next: Engine) => {
      rules.engine = next
      for (const each of watchers) each()
    },
    watchers,
  }
  return rules
}

/** Compares without a sidecar. @param isMetered whether differences are counted for the metrics */
export function beside(shadow: Engine, inForce: Engine = SHIPPED, isMetered = false) {
  const [rules, other] = [rulesWith(inForce), rulesWith(shadow)]
  const [onBegin, onDefect] = [vi.fn(), vi.fn<(error: unknown) => void>()]
  const metered: string[] = []
  const compared = new ComparedShadow({
    ...{ rules: rules as unknown as Rules, shadow: other as unknown as Rules, now: () => clock.nowMs },
    ...{ onBegin, onDefect },
    counterOf: isMetered
      ? (...cell) =>
          () =>
            metered.push(cell.join(' '))
      : undefined,
  })
  const ask = (api: string, kind: string = ACCOUNT_KIND, scope?: Scope, next?: DecisionListener) => {
    const question = { api, kind, scope: scope ?? { account: '1' }, target: undefined }
    return checkClaims({ engine: rules.engine }, question, compared.listener(next))
  }
  return { compared, ask, rules, other, onBegin, onDefect, metered }
}
