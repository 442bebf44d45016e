// An alert for tests of what is said about it.
import type { JsonObject } from '../../../../schemas/json.ts'
import type { TemplateValues } from '../template.ts'

export function templateValues(
  alert: JsonObject = {},
  values: Partial<Omit<TemplateValues, 'alert'>> = {},
): TemplateValues {
  return {
    alert: {
      ...{ alert_id: 'alt_1', type: 'threshold', severity: 'warning', value: 17.5, threshold: 20 },
      ...{ state: 'firing', count: 1, labels: { site: 'north' }, reason: null },
      ...{ started_at: '2026-11-22T14:01:00.000Z', fired_at: '2026-11-22T14:02:00.000Z', resolved_at: null },
      ...alert,
    },
    event: 'fired',
    message: 'Pump 7: threshold 17.5 (20)',
    link: 'https://fleet.example.com/devices/pump-7',
    device: {
      ...{ id: 'pump-7', name: 'Pump 7', type: 'mqtt_device', group: 'north/hall' },
      link: 'https://fleet.example.com/devices/pump-7',
    },
    rule: { id: 'rul_1', name: 'battery low' },
    total: 1,
    ...values,
  }
}
