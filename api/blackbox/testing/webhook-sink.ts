// A receiver of webhooks for tests: keeps what it takes, and answers as the test wants.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedCall {
  readonly id: string
  readonly type: string
  readonly alerts: readonly string[]
  /** 0 if it was not answered. */
  readonly status: number
}

export class WebhookSink {
  readonly taken: ReceivedCall[] = []
  /** The status to answer with, or 0 to leave it to the test. */
  answer: (response: ServerResponse) => number = () => 200
  readonly #server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    request.on('end', () => {
      // The usual body of a webhook.
      const { type, data } = JSON.parse(text) as {
        readonly type: string
        readonly data: { readonly alerts: readonly { readonly alert_id: string }[] }
      }
      const alerts = data.alerts.map(({ alert_id: id }) => id)
      const status = this.answer(response)
      this.taken.push({ id: String(request.headers['webhook-id']), type, alerts, status })
      if (status > 0) response.writeHead(status).end()
    })
  })

  static async open(): Promise<WebhookSink> {
    const sink = new WebhookSink()
    await new Promise<void>((resolve) => sink.#server.listen(0, '127.0.0.1', resolve))
    return sink
  }

  /** What FLEET_WEBHOOK_ALLOW has to name. */
  get host(): string {
    // It listens on TCP.
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get url(): string {
    return `http://${this.host}/hook`
  }

  /** The ids under which this was said of the alert. */
  idsOf(alert: string, type: string): readonly string[] {
    const said = this.taken.filter((each) => each.type === type && each.alerts.includes(alert))
    return [...new Set(said.map(({ id }) => id))]
  }

  /** Cuts the connections of whoever waits for an answer. */
  cut(): void {
    this.#server.closeAllConnections()
  }

  close(): void {
    this.cut()
    this.#server.close()
  }
}
