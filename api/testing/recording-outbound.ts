// Outgoing HTTP and mail for tests: addresses are checked as usual, names resolve to one chosen address, and messages are
// recorded instead of sent.
import { GuardedHttp } from '../../engine/adapters/http-out/guarded-http.ts'
import type { HttpOut, OutboundRequest } from '../../engine/ports/http-out.ts'
import type { Mail, OutgoingMail } from '../../engine/ports/mail.ts'
import type { Links, Outbound } from '../../engine/ports/outbound.ts'

export class RecordingOutbound implements Outbound {
  readonly requests: OutboundRequest[] = []
  readonly mails: OutgoingMail[] = []
  /** The status that receivers answer with. */
  status = 200
  /** The address that every name resolves to. */
  address = '93.184.216.34'
  readonly http: HttpOut
  readonly mail: Mail
  readonly links: Links = {
    device: (id) => `https://fleet.example.com/devices/${id}`,
    alert: (id) => `https://fleet.example.com/alerts/${id}`,
  }
  readonly userAgent = 'fleet/test'

  constructor() {
    const guard = new GuardedHttp({ allow: [], resolve: async () => [this.address] })
    this.http = {
      judge: (url) => guard.judge(url),
      send: async (request) => {
        if ((await guard.judge(request.url)).kind === 'forbidden') return { kind: 'blocked' }
        this.requests.push(request)
        return { kind: 'answered', status: this.status, retryAfterSec: undefined }
      },
    }
    this.mail = {
      send: async (mail) => {
        this.mails.push(mail)
        return { kind: 'answered', status: 200, retryAfterSec: undefined }
      },
      close: () => {},
    }
  }
}
