// Messages for tests of how channels show them.
import { Millis } from '../../../../schemas/ids.ts'
import type { JsonObject } from '../../../../schemas/json.ts'
import type { AlertMessage, MessageAlert } from '../message.ts'
import { templateValues } from './template-values.ts'

export function toldAlert(
  alert: JsonObject = {},
  told: Partial<Omit<MessageAlert, 'alert'>> = {},
): MessageAlert {
  const values = templateValues(alert)
  return {
    event: 'fired',
    ruleId: values.rule.id,
    ruleName: values.rule.name,
    severity: 'warning',
    message: values.message,
    device: values.device,
    ...told,
    alert: { ...values.alert, link: values.link, message: told.message ?? values.message, ...alert },
  }
}

export function alertMessage(message: Partial<AlertMessage> = {}): AlertMessage {
  return {
    notificationId: 'ntf_1',
    event: 'fired',
    at: Millis(Date.UTC(2026, 10, 22, 14, 2)),
    told: [toldAlert()],
    total: 1,
    severity: 'warning',
    rules: [{ name: 'battery low', fired: 1, resolved: 0 }],
    ...message,
  }
}

/** Every text that somebody else chose is this one. */
export function alertMessageOf(text: string): AlertMessage {
  const device = {
    id: 'pump-7',
    name: text,
    type: text,
    group: text,
    link: 'https://fleet.example.com/devices/pump-7',
  }
  const told = toldAlert(
    { type: text, value: text, threshold: text },
    { ruleName: text, message: text, device },
  )
  return alertMessage({ told: [told], rules: [{ name: text, fired: 1, resolved: 0 }] })
}
