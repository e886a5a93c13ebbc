/**
 * Floods of HTTP/2, each kind that is known: on two connections as fast as the sidecar reads, from any client
 * that reaches it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { attackedSidecar, type Scene } from '../support/attack/attack-scene.ts'
import { scenario } from '../support/attack/scenario.ts'
import { FLOODS, type FloodReport } from '../support/interop/floods.ts'
import { startProcess } from '../support/processes/processes.ts'
import { eventually } from '../support/suite/resources.ts'

const PROGRAM = fileURLToPath(new URL('../support/interop/floods.ts', import.meta.url))

const scene = await attackedSidecar()

test.each(Object.entries(FLOODS))('%s', async (flood, { bound }) => {
  const attack = (attacked: Scene) => startFlood(attacked, flood)
  const before = scene.log().length
  const isLogged = () =>
    scene
      .log()
      .slice(before)
      .some((line) => counts(line, bound))
  const { outcome } = await scenario(scene, `flood: ${flood}`, attack, async () => {
    if (bound !== undefined) await eventually(isLogged)
  })
  expect(outcome.connections).toBeGreaterThan(0)
})

/** Whether a line of the log says that this bound was exceeded. */
function counts({ msg, exceeded }: Record<string, unknown>, bound = ''): boolean {
  return (
    msg === 'connections or calls were refused because a limit was reached' && bound in (exceeded as object)
  )
}

/**
 * Floods from a separate process, with a lower priority, so that on few processors it does not take the
 * neighbour's time.
 */
async function startFlood({ served }: Scene, flood: string) {
  const attacker = startProcess(['nice', '-n', '10', process.execPath, PROGRAM, served.ready.grpc, flood], {
    input: 'open',
  })
  // It must reach its full strength.
  await sleep(1_000)
  return async () => {
    const { stdout } = await attacker.stop()
    const { connections, endings } = JSON.parse(stdout.trim()) as FloodReport
    return { connections, ...endings }
  }
}
