/**
 * A start that leaves little behind. The code of a start is not the code of calls: module loading,
 * options, checks of the configuration. V8 would optimize that code, and enlarge the young generation for
 * objects that never die.
 */
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { HALF_MEGABYTES } from './young-generation.ts'

const HALF_BYTES = HALF_MEGABYTES * 2 ** 20

/** Whether the start of this process is a light one. */
let isLight = false

/**
 * Called before anything else is loaded. Does nothing if options of Node already say how to compile or how
 * much memory to use.
 */
export function beginLightStart(): void {
  const flags = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ')
  // Elsewhere V8 has no Maglev.
  if (
    /semi[-_]space|maglev|turbofan|opt\b|opti|jit|lite/.test(flags) ||
    !['x64', 'arm64'].includes(process.arch)
  )
    return
  isLight = true
  for (const flag of ['--no-maglev', '--no-turbofan', '--semi-space-growth-factor=1'])
    setFlagsFromString(flag)
}

/** From now on V8 optimizes, and the young generation grows as V8 sees fit. */
export function endLightStart(): void {
  if (!isLight) return
  isLight = false
  for (const flag of ['--maglev', '--turbofan', '--semi-space-growth-factor=2']) setFlagsFromString(flag)
}

/**
 * From now on V8 optimizes, and the young generation grows to what calls need as soon as they need it, and no
 * further.
 */
export function endLightStartForCalls(): void {
  if (!isLight) return
  endLightStart()
  // V8 takes the largest size from a flag of Node alone, so the growth ends when it is reached.
  setFlagsFromString(`--semi-space-growth-factor=${Math.max(2, HALF_BYTES / halfBytes())}`)
  const observer = new PerformanceObserver(() => {
    if (halfBytes() < HALF_BYTES) return
    observer.disconnect()
    setFlagsFromString('--semi-space-growth-factor=1')
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** The bytes that each half may hold now. V8 reports a few bytes less. */
function halfBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  const bytes = (young?.space_used_size ?? 0) + (young?.space_available_size ?? 0)
  return Math.round(bytes / 2 ** 20) * 2 ** 20
}
