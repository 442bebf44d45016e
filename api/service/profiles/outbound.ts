// Outgoing HTTP and mail, the same in every profile.
import { GuardedHttp } from '../../../engine/adapters/http-out/guarded-http.ts'
import { SmtpMail } from '../../../engine/adapters/mail/smtp-mail.ts'
import type { Outbound } from '../../../engine/ports/outbound.ts'
import type { Settings } from '../settings/settings.ts'
import type { ProfilePorts } from './profile.ts'

export function openOutbound({ outbound, publicUrl }: Settings, { build, served }: ProfilePorts): Outbound {
  const base = () => (publicUrl ?? served.httpUrl).replace(/\/$/, '')
  return {
    http: new GuardedHttp({ allow: outbound.allow }),
    mail: outbound.smtp && new SmtpMail(outbound.smtp),
    links: {
      device: (id) => `${base()}/devices/${encodeURIComponent(id)}`,
      alert: (id) => `${base()}/alerts/${encodeURIComponent(id)}`,
    },
    userAgent: `fleet/${build.version}`,
  }
}
