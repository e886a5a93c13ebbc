/** A program that only computes, with the priority that it is given, until its input ends. */
import { setPriority } from 'node:os'
import { reportAndEnd } from './attack-report.ts'

const { priority } = JSON.parse(process.argv[2] ?? '') as { priority: number }
setPriority(priority)
process.stdin.resume().on('end', () => {
  reportAndEnd({})
})
process.stdout.write('attacking\n')

/** So that the end of the input is noticed. */
const SLICE_MS = 5

function compute(): void {
  const end = performance.now() + SLICE_MS
  while (performance.now() < end);
  setImmediate(compute)
}
compute()
