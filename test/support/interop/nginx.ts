/**
 * nginx: that of the machine, or that of Debian's package, unpacked into a separate folder. It serves https
 * here.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '../processes/processes.ts'
import { eventually, newFolder } from '../suite/resources.ts'
import type { Certificate } from './certificates.ts'
import { CommandFailed, run } from './command.ts'
import { unpacked } from './debian.ts'

/** @returns its path @throws CommandFailed where it is neither on this machine nor to be had */
export async function installNginx(): Promise<string> {
  try {
    await run('nginx', ['-v'])
    return 'nginx'
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
  }
  const program = join(await unpacked('nginx', ['nginx']), 'usr/sbin/nginx')
  await run(program, ['-v'])
  return program
}

export interface Nginx {
  /** `https://127.0.0.1:PORT/` */
  readonly url: string
  /** The folder that it serves under `/files/`. */
  readonly files: string
  /** Its access log: method, path and status of each request. */
  readonly accessLog: string
}

/**
 * Starts it. Everything outside of `/files/` goes to the backend as it comes, in both directions.
 *
 * @param backend `HOST:PORT`
 */
export async function startNginx(
  program: string,
  { certificate, key }: Certificate,
  backend: string,
  port: number,
): Promise<Nginx> {
  const folder = newFolder()
  const files = join(folder, 'files')
  for (const each of ['files', 'body', 'proxy', 'logs']) mkdirSync(join(folder, each))
  const config = join(folder, 'nginx.conf')
  writeFileSync(
    config,
    `daemon off;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    # One process alone, which a test can stop by its number.
    master_process off;
    pid ${folder}/nginx.pid;
    error_log ${folder}/logs/error.log;
    events { worker_connections 512; }
    http {
      client_body_temp_path ${folder}/body;
      proxy_temp_path ${folder}/proxy;
      fastcgi_temp_path ${folder}/proxy;
      uwsgi_temp_path ${folder}/proxy;
      scgi_temp_path ${folder}/proxy;
      log_format short '$request_method $uri $status';
      access_log ${folder}/logs/access.log short;
      client_max_body_size 0;
      server {
        listen 127.0.0.1:${port} ssl;
        ssl_certificate ${certificate};
        ssl_certificate_key ${key};
        location /files/ { root ${folder}; }
        location / {
          proxy_pass http://${backend};
          proxy_http_version 1.1;
          proxy_request_buffering off;
          proxy_buffering off;
        }
      }
    }`,
  )
  const nginx = startProcess([program, '-p', folder, '-c', config])
  nginx.ended.then(
    ({ code, stderr }) =>
      process.stderr.write(code === 'SIGKILL' || code === 0 ? '' : `nginx ended: ${stderr}\n`),
    () => {},
  )
  await eventually(() =>
    run('bash', ['-c', `exec 3<>/dev/tcp/127.0.0.1/${port}`]).then(
      () => true,
      () => false,
    ),
  )
  return { url: `https://127.0.0.1:${port}/`, files, accessLog: join(folder, 'logs/access.log') }
}
