# SPDX-License-Identifier: Apache-2.0
"""A training loop in PyTorch. Prints one JSON object: how long the steps took. Ends with 77 without torch or a GPU."""
import json
import sys
import time

try:
    import torch
except ImportError as error:
    print("train.py:", error, file=sys.stderr)
    sys.exit(77)
if not torch.cuda.is_available():
    print("train.py: torch finds no GPU", file=sys.stderr)
    sys.exit(77)

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
torch.manual_seed(1)
model = torch.nn.Sequential(
    torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10)
).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x = torch.randn(256, 512)
y = torch.randint(0, 10, (256,))


def step():
    loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for _ in range(20):
    step().item()
torch.cuda.synchronize()
begin = time.monotonic_ns()
for i in range(steps):
    loss = step()
    if i % 10 == 0:
        loss.item()
torch.cuda.synchronize()
print(json.dumps({"ns": time.monotonic_ns() - begin, "calls": 0, "failed": 0, "functions": {}}))
