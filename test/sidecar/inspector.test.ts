/**
 * The inspector of Node reads every secret of a process. SIGUSR1, which opens it by default, opens it in no
 * process of a sidecar.
 */
import { expect, test } from 'vitest'
import { BlackBox } from '../support/contract/black-box.ts'
import { serve } from '../support/processes/processes.ts'
import { workersOf } from '../support/processes/worker-storm.ts'
import { eventually } from '../support/suite/resources.ts'

test.each<[claim: string, args: string[]]>([
  ['a sidecar', []],
  ['the primary and the workers', ['--workers', '2']],
])('%s: SIGUSR1 does nothing', async (_claim, args) => {
  // Port 0: if an inspector opens, it finds a port.
  const pool = await serve(args, { environment: { NODE_OPTIONS: '--inspect-port=0' } })
  const processes = [pool.pid, ...(args.length > 0 ? workersOf(pool) : [])]
  expect(processes).toHaveLength(args.length > 0 ? 3 : 1)
  for (const pid of processes) process.kill(pid, 'SIGUSR1')
  // Every process answers again after the signal.
  for (let call = 0; call < 20; call++) await new BlackBox(pool.ready.grpc).ask('getMatrix', {})
  for (const pid of processes) await eventually(() => process.kill(pid, 0))
  const { code, stderr } = await pool.stop()
  expect({ code, stderr: stderr.match(/debugger.*/i) }).toEqual({ code: 0, stderr: null })
})
