/**
 * A directory as it is when a simulation begins. It is the same for all seeds, and made once in a process: to
 * make it takes as long as hundreds of steps.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { randomFrom } from '../support/inputs/random.ts'
import { Fleet, type Host, PEPPER_FILE } from './fleet.ts'
import { type Member, setUpMembers } from './members.ts'
import { Operations, type Secrets } from './operations.ts'
import { network } from './world/network.ts'
import { PostgresServer } from './world/postgres-server.ts'
import { time } from './world/time.ts'
import { world } from './world/world.ts'

export interface Populated {
  /** What `PostgresServer.save` wrote. */
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
  world.postgres = new PostgresServer(folder)
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
  const file = join(folder, 'populated.sqlite')
  world.postgres.save(file)
  const pepper = readFileSync(join((fleet.hosts[0] as Host).folder, PEPPER_FILE))
  fleet.close()
  world.postgres.close()
  rmSync(place, { recursive: true })
  return { file, pepper, secrets: operations.secrets, members }
}
