/** Stands for your application: it answers with the headers that reached it. */
import { createServer } from 'node:http'

const server = createServer(({ headers }, response) => response.end(`${JSON.stringify(headers, null, 2)}\n`))
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log('listening on', server.address()),
)
