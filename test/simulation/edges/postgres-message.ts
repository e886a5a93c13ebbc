/** In place of a message of several statements, whose parts are those of `pg`. */
import type { Client, Statement } from './pg.ts'

/** As that of the product. */
export async function sendTogether(client: Client, statements: readonly Statement[], timeoutMs: number) {
  const results = await client.together(statements, timeoutMs)
  return results.map((rows, index) => ({ rows, command: statements[index]?.text.split(' ', 1)[0] }))
}
