/**
 * A directory as it is when a simulation begins. It is the same for all seeds, and made once in a process,
 * because this takes as long as hundreds of steps.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PEPPER_FILE } from '../../sidecar/base/data-folder.ts'
import { AUDIT_PROTECTION, SCHEMA_VERSION } from '../../sidecar/directory/schema.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { Fleet, type Host } from './fleet.ts'
import { type Member, setUpMembers } from './members.ts'
import { Operations, type Secrets } from './operations.ts'
import { network } from './world/network.ts'
import { PostgresServer } from './world/postgres-server.ts'
import { time } from './world/time.ts'
import { world } from './world/world.ts'

export interface Populated {
  /** For a PostgreSQL server. */
  readonly shared: string
  /** The same as the file of a data folder. */
  readonly file: string
  readonly pepper: Buffer
  readonly secrets: Secrets
  readonly members: readonly Member[]
}

export async function populate(folder: string): Promise<Populated> {
  const random = randomFrom(0)
  Math.random = random
  const place = join(folder, 'populating')
  mkdirSync(place)
  time.begin()
  network.begin()
  time.syncMs = () => 0
  network.delayMs = () => 1
  const server = new PostgresServer(folder)
  Object.assign(world, { postgres: server, directory: server })
  const fleet = new Fleet(place, random)
  await fleet.start()
  const operations = new Operations(random)
  const [[worker, operator] = []] = [...fleet.operators]
  if (worker === undefined || operator === undefined) throw new Error('a fleet has operators')
  const work = async () => {
    await operations.populate(operator)
    return setUpMembers(operator, worker)
  }
  const members = await time.until(worker.machine.run(work), 60_000)
  const [shared, file] = [join(folder, 'shared.sqlite'), join(folder, 'file.sqlite')]
  server.save(shared)
  server.save(file)
  makeDirectoryFile(file)
  const pepper = readFileSync(join((fleet.hosts[0] as Host).folder, PEPPER_FILE))
  fleet.close()
  server.close()
  rmSync(place, { recursive: true })
  return { shared, file, pepper, secrets: operations.secrets, members }
}

/** The tables are those of the product already. */
function makeDirectoryFile(file: string): void {
  const database = new DatabaseSync(file)
  database.exec(
    `DROP TABLE schema_version; ${AUDIT_PROTECTION.sqlite.restore}; PRAGMA user_version = ${SCHEMA_VERSION}`,
  )
  database.close()
}
