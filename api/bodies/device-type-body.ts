// The body of a device type in REST.
import type { DeviceType } from '../../engine/domain/device-type/definition.ts'

export function deviceTypeBody(type: DeviceType) {
  return {
    name: type.name,
    display_name: type.displayName,
    icon: type.icon ?? null,
    built_in: false,
    telemetry: type.telemetry.map(({ field, unit, range, alertAbove, alertBelow }) => ({
      field,
      unit: unit ?? null,
      range: range ?? null,
      alert_above: alertAbove ?? null,
      alert_below: alertBelow ?? null,
    })),
    commands: type.commands?.map(commandDefinitionBody) ?? null,
    status_fields: type.statusFields.map(({ field, warnBelow, criticalBelow }) => ({
      field,
      warn_below: warnBelow ?? null,
      critical_below: criticalBelow ?? null,
    })),
    heartbeat_timeout_sec: type.heartbeatTimeoutSec ?? null,
  }
}

export function builtInTypeBody(name: string) {
  const display_name = BUILT_IN_NAMES[name] ?? name
  return {
    name,
    display_name,
    icon: null,
    built_in: true,
    telemetry: [],
    commands: null,
    status_fields: [],
    heartbeat_timeout_sec: null,
  }
}

const BUILT_IN_NAMES: Readonly<Record<string, string>> = {
  ros2_robot: 'ROS 2 robot',
  micro_ros_mcu: 'Microcontroller with micro-ROS',
  mqtt_device: 'MQTT device',
  gateway: 'Gateway',
  simulator: 'Simulator',
}

function commandDefinitionBody({
  name,
  description,
  parameters,
}: NonNullable<DeviceType['commands']>[number]) {
  return {
    name,
    description: description ?? null,
    parameters:
      parameters?.map((parameter) => ({
        name: parameter.name,
        type: parameter.type,
        required: parameter.required,
        ...(parameter.description === undefined ? {} : { description: parameter.description }),
        ...(parameter.min === undefined ? {} : { min: parameter.min }),
        ...(parameter.max === undefined ? {} : { max: parameter.max }),
      })) ?? null,
  }
}
