/** Generated files are current before the tests of a run, so that they ask the sources as they are. */
import type { TestProject } from 'vitest/node'
import { generate } from '../../../scripts/generate.ts'

export async function setup(project: TestProject): Promise<void> {
  await generate()
  project.onTestsRerun(() => generate())
}
