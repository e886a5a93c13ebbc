/**
 * Loaded into a process: the audit trail is archived whatever its age, so each start has some to move. Rows
 * that were just deleted are removed all the time.
 */
import { replaceIn } from '../world/replacing.ts'

const RETENTION = '/sidecar/usecases/retention.ts'

replaceIn(RETENTION, 'const DAY_MS = 24 * HOUR_MS', 'const DAY_MS = 0')
replaceIn(RETENTION, 'setTimeout(remove, MINUTE_MS)', 'setInterval(remove, 20)')
