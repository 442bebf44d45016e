"""A robot for tests, in real ROS 2: it publishes on some topics, repeats what it is told, offers one service and one action.

It prints a line once it is there. What it publishes goes on until it ends.
"""

import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import BatteryState
from std_msgs.msg import Float32, String
from std_srvs.srv import SetBool

try:
    from test_msgs.action import Fibonacci
except ImportError:  # An environment of before there were actions here.
    Fibonacci = None


class Robot(Node):
    def __init__(self):
        super().__init__("robot")
        self.battery = self.create_publisher(BatteryState, "/battery_state", 10)
        self.temperature = self.create_publisher(Float32, "/temperature", 10)
        self.diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.heard = self.create_publisher(String, "/heard", 10)
        self.last_heard = ""
        self.create_subscription(String, "/say", self.hear, 10)
        self.create_service(SetBool, "/lights", self.switch_lights)
        self.create_timer(0.02, self.measure)
        if Fibonacci is not None:
            self.counting = ActionServer(
                self,
                Fibonacci,
                "/count",
                self.count,
                cancel_callback=lambda goal: CancelResponse.ACCEPT,
                # A goal goes on while its cancellation and everything else is taken.
                callback_group=ReentrantCallbackGroup(),
            )

    def measure(self):
        battery = BatteryState(percentage=0.5, voltage=24.5, current=float("nan"))
        battery.header.stamp = self.get_clock().now().to_msg()
        self.battery.publish(battery)
        self.temperature.publish(Float32(data=21.5))
        warning = DiagnosticStatus(level=DiagnosticStatus.WARN, name="motor", message="warm")
        self.diagnostics.publish(DiagnosticArray(status=[warning]))
        # Again and again, because who subscribes late misses what was said before.
        if self.last_heard:
            self.heard.publish(String(data=self.last_heard))

    def hear(self, message):
        self.last_heard = message.data

    def switch_lights(self, request, response):
        response.success = request.data
        response.message = "lights"
        return response

    def count(self, goal):
        """Tells each number on the way to the one that is wanted. Nobody wants fewer than one."""
        self.last_heard = f"count to {goal.request.order}"
        sequence = [0]
        while len(sequence) < goal.request.order:
            if goal.is_cancel_requested:
                goal.canceled()
                self.last_heard = "cancelled"
                return Fibonacci.Result(sequence=sequence)
            # The numbers of the message are small ones.
            sequence.append((sequence[-1] + (sequence[-2] if len(sequence) > 1 else 1)) % 1_000)
            goal.publish_feedback(Fibonacci.Feedback(sequence=sequence[-40:]))
            time.sleep(0.05)
        if goal.request.order < 1:
            goal.abort()
        else:
            goal.succeed()
        return Fibonacci.Result(sequence=sequence[-40:])


rclpy.init()
robot = Robot()
print("the robot is there", "with actions" if Fibonacci else "without actions", flush=True)
executor = MultiThreadedExecutor(num_threads=3)
executor.add_node(robot)
executor.spin()
