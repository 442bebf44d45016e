// The answer to a device that registered itself, over REST or MQTT.
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { type Millis, toIso } from '../../schemas/ids.ts'
import type { ProvisionedDevice } from '../../schemas/provisioning.ts'

export function provisionedBody(
  {
    device,
    issued,
  }: {
    readonly device: Pick<DeviceRecord, 'id' | 'type' | 'group'>
    readonly issued: { readonly token: string; readonly expiresAt: Millis }
  },
  mqttEndpoint: string,
): ProvisionedDevice {
  return {
    device_id: device.id,
    mqtt_token: issued.token,
    expires_at: toIso(issued.expiresAt),
    type: device.type,
    group: device.group ?? null,
    mqtt_endpoint: mqttEndpoint,
  }
}
