/** Loaded into a process: the audit trail is archived whatever its age, so each start has some to move. */
import { replaceIn } from '../world/replacing.ts'

replaceIn('/sidecar/usecases/retention.ts', 'const DAY_MS = 24 * HOUR_MS', 'const DAY_MS = 0')
