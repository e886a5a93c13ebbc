/**
 * Runs before every test file, in its process, in which other files run before and after it. What the file
 * opens is closed when it ends; the folder and the environment that it works in are then as they were.
 */
import { afterAll } from 'vitest'
import { closeAll } from './resources.ts'

const folder = process.cwd()
const environment = { ...process.env }

afterAll(async () => {
  // A thread has the folder of its process, and cannot change it.
  if (process.cwd() !== folder) process.chdir(folder)
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
  await closeAll()
})
