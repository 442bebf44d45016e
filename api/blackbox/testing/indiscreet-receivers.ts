// Receivers of alerts that fail, and say what they were sent in their failure: in a status text, a header, a body, and in
// the answer of a mail server.
import { createServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { SMTPServer } from 'smtp-server'

export class IndiscreetReceivers {
  /** Paths that were asked for. */
  readonly asked: string[] = []
  /** Passwords with which mail was to be sent. */
  readonly passwords: string[] = []
  readonly #http = createServer((request, response) => {
    const said = JSON.stringify([request.url, request.headers])
    const path = request.url ?? ''
    this.asked.push(path)
    request.resume()
    if (path.startsWith('/cut')) return void request.socket.destroy()
    const status = path.startsWith('/moved') ? 302 : path.startsWith('/gone') ? 410 : 500
    response.writeHead(status, said.slice(0, 200), { location: path, 'x-said': said }).end(said)
  })
  readonly #smtp = new SMTPServer({
    ...{ authOptional: true, allowInsecureAuth: true, disabledCommands: ['STARTTLS'], logger: false },
    onAuth: ({ username, password }, _session, done) => {
      this.passwords.push(password ?? '')
      done(new Error(`${username} may not log in with ${password}`))
    },
  })

  static async open(): Promise<IndiscreetReceivers> {
    const receivers = new IndiscreetReceivers()
    receivers.#smtp.on('error', () => undefined)
    await Promise.all([
      new Promise<void>((resolve) => receivers.#http.listen(0, '127.0.0.1', resolve)),
      new Promise<void>((resolve) => receivers.#smtp.listen(0, '127.0.0.1', resolve)),
    ])
    return receivers
  }

  get host(): string {
    return `127.0.0.1:${portOf(this.#http)}`
  }

  get mailHost(): string {
    return `127.0.0.1:${portOf(this.#smtp.server)}`
  }

  close(): void {
    this.#http.closeAllConnections()
    this.#http.close()
    this.#smtp.close()
  }
}

// It listens on TCP.
const portOf = (server: Pick<Server, 'address'>): number => (server.address() as AddressInfo).port
