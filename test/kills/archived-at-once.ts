/** Loaded into a process: the audit trail is archived whatever its age, so each start has some to move. */
import { registerHooks } from 'node:module'

const RETENTION = '/sidecar/usecases/audit-retention.ts'
const DAY = 'const DAY_MS = 24 * HOUR_MS'

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith(RETENTION)) return loaded
    const source = String(loaded.source)
    if (!source.includes(DAY)) throw new Error(`${RETENTION}: expected \`${DAY}\``)
    return { ...loaded, source: source.replace(DAY, 'const DAY_MS = 0') }
  },
})
