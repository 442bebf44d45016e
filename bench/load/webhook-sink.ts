// Receives the webhooks of a channel and records their times of arrival.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ticks } from '../measure/deadline.ts'

export interface ReceivedWebhook {
  readonly at: number
  readonly type: string
  /** The number of alerts in the message. */
  readonly total: number
  readonly deviceId: string | undefined
}

/** The fields of the body that the bench reads. */
interface WebhookBody {
  readonly type: string
  readonly data: { readonly total: number; readonly device: { readonly id: string } | null }
}

export class WebhookSink {
  readonly received: ReceivedWebhook[] = []
  readonly #server: Server

  static async open(): Promise<WebhookSink> {
    const sink = new WebhookSink()
    await new Promise<void>((resolve) => sink.#server.listen(0, '127.0.0.1', resolve))
    return sink
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      const at = ticks()
      let text = ''
      request.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      request.on('end', () => {
        // The usual body of a webhook.
        const { type, data } = JSON.parse(text) as WebhookBody
        this.received.push({ at, type, total: data.total, deviceId: data.device?.id })
        response.end()
      })
    })
  }

  /** Host and port. */
  get address(): string {
    // It listens on TCP.
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The number of alerts in messages of this type. */
  told(type: string): number {
    return this.received.reduce((sum, each) => sum + (each.type === type ? each.total : 0), 0)
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
