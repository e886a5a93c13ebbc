/** What the edges of the simulation find: of the fleet that is simulated now. */
import type { PostgresServer } from './postgres-server.ts'

export const world: { postgres: PostgresServer } = { postgres: undefined as never }
