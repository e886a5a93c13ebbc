/** Floods of HTTP/2, each kind that is known: on two connections as fast as the sidecar reads, from anybody who reaches it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scenario } from '../support/attack/scenario.ts'
import { attackedSidecar, type Scene } from '../support/attack/scene.ts'
import { FLOODS, type FloodReport } from '../support/interop/floods.ts'
import { startProcess } from '../support/processes.ts'

const PROGRAM = fileURLToPath(new URL('../support/interop/floods.ts', import.meta.url))

const scene = await attackedSidecar()

test.each(Object.keys(FLOODS))('%s', async (flood) => {
  const { outcome } = await scenario(scene, `flood: ${flood}`, (attacked) => startFlood(attacked, flood))
  expect(outcome.connections).toBeGreaterThan(0)
})

/** Floods from a process of its own, with a lower priority, so that on few processors it does not take the neighbour's time. */
async function startFlood({ served }: Scene, flood: string) {
  const attacker = startProcess(['nice', '-n', '10', process.execPath, PROGRAM, served.ready.grpc, flood], {
    input: 'open',
  })
  // It has to reach its full strength.
  await sleep(1_000)
  return async () => {
    const { stdout } = await attacker.stop()
    const { connections, endings } = JSON.parse(stdout.trim()) as FloodReport
    return { connections, ...endings }
  }
}
