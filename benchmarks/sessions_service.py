"""An invented customer-service session: many human turns, JSON records, small results."""

from __future__ import annotations

import json
from typing import Any

from .session_recorder import Message, Recorder, heavy_tailed, words

__all__ = ["service_session"]

_SYSTEM = """\
You serve the customers of a household goods shop. Today is 2026-03-09.
- Find out who the customer is before you say anything about an order: ask for the customer id, or \
find it by name and postcode.
- Before you change anything (cancel, exchange, refund, change an address), say exactly what you \
will change and get an explicit yes.
- An order can be cancelled while its status is pending or packed. A delivered order can be \
returned within 30 days; shoes and lamps only with their box.
- A refund goes to the payment method of the order. A gift card is refunded at once, a bank card \
within five days. Store credit needs the customer's consent.
- One change at a time. Never make up an order, a product or a price; never promise a date.
- Hand over to a person when the request is outside of these rules.
"""
_FIRST = words(
    "Ada Bo Chen Dana Emil Farah Goran Hana Ivo Jun Kira Lars Mina Noor Olga Pia Raj Sofia"
)
_LAST = words("Abe Braun Costa Diaz Evans Fischer Garcia Haddad Ito Jansen Kovac Lopez Meyer Novak")
_GOODS = words("kettle lamp shelf stool rug vase clock blanket teapot mirror basket curtain tray")
_LOOKS = words("blue grey oak round small tall woven steel amber folding double soft striped")
_CITIES = words("Bergen Cork Ghent Graz Leeds Lille Lodz Malmo Porto Turin Utrecht Zagreb")
_STATES = ("pending", "packed", "shipped", "delivered", "returned")
_CARE = (
    "I am happy to look into that for you.",
    "Please note that a change can only be made once while the order is being packed.",
    "You will get a confirmation by mail within a few minutes, with all the details.",
    "If anything is not as you expected, tell me and I will see what our rules allow.",
    "A refund to a gift card is there at once; a bank card takes up to five working days.",
    "Returned goods have to reach us within 30 days, unused and in the box they came in.",
    "I have checked the stock of all our warehouses, and this is what can be sent today.",
    "The price difference is charged or refunded to the same payment method.",
)
_CHAT = (
    "I have been waiting for a while now and it is getting a little annoying.",
    "It is a present for my sister, so it should really be there before the weekend.",
    "I did not find that on your site, maybe I looked in the wrong place.",
    "Last time everything went very well, by the way.",
    "My neighbour had the same problem some weeks ago.",
)


class _Desk:
    """The agent, its customers and their records."""

    def __init__(self, seed: int, tokens: int) -> None:
        self.it = Recorder(f"service-{seed}", tokens)
        self.rng = self.it.rng
        self.records: dict[str, dict[str, Any]] = {}

    def session(self) -> list[Message]:
        self.it.system(_SYSTEM)
        while not self.it.full:
            self.case()
        return self.it.messages

    def answer(self, text: str) -> None:
        """Answer the customer, with the courtesies of the trade."""
        count = heavy_tailed(self.rng, median=1.6, spread=0.6, most=len(_CARE))
        self.it.say(" ".join((text, *self.rng.sample(_CARE, count))))

    def ask(self, text: str) -> None:
        """Say something as the customer."""
        self.it.human(" ".join((text, *self.rng.sample(_CHAT, self.rng.randint(0, 2)))))

    def case(self) -> None:
        """One customer from greeting to thanks."""
        it, rng = self.it, self.rng
        customer = self.customer()
        name = customer["name"]
        self.ask(f"Hi, this is {name}. I have a question about an order, can you help me?")
        self.answer("Of course. Could you give me your customer id, please?")
        self.ask(f"It is {customer['customer_id']}.")
        it.call("", "get_customer", {"customer_id": customer["customer_id"]}, json.dumps(customer))
        orders = customer["orders"]
        it.show("order", orders)
        self.answer(
            f"Thank you, {name}. I see the orders {', '.join(orders)}. Which one is it about?"
        )
        for _ in range(rng.randint(1, 5)):
            self.concern(customer)
            if it.full:
                return
        self.ask("That is all, thank you.")
        self.answer(f"You are welcome, {name.split()[0]}. Have a good day!")

    def concern(self, customer: dict[str, Any]) -> None:
        """One thing that the customer wants."""
        it, rng = self.it, self.rng
        order = rng.choice(customer["orders"])
        self.ask(f"It is about {order}. Where is it, and can I still change something?")
        record = self.order(order, customer)
        it.call("", "get_order", {"order_id": order}, json.dumps(record))
        items = [item["sku"] for item in record["items"]]
        it.show("sku", items)
        self.answer(
            f"Order {order} is {record['status']}. It holds "
            + ", ".join(f"{item['name']} ({item['sku']})" for item in record["items"][:6])
            + ". What would you like to change?"
        )
        rng.choices((self.exchange, self.refund, self.look_back), (45, 40, 15))[0](order, record)

    def exchange(self, order: str, record: dict[str, Any]) -> None:
        it, rng = self.it, self.rng
        old = rng.choice(record["items"])
        self.ask(f"I would rather have the {old['name'].split()[-1]} in another colour.")
        count = heavy_tailed(rng, median=7, spread=0.9, most=70)
        found = [self.item() for _ in range(count)]
        query = {"name": old["name"].split()[-1], "in_stock": True}
        it.call("", "search_products", query, json.dumps({"products": found, "total": count}))
        new = rng.choice(found)
        shown = ", ".join(f"{item['name']} ({item['sku']}, {item['price']})" for item in found[:4])
        self.answer(f"There are {count}, among them {shown}. Shall I take {new['sku']}?")
        self.ask(rng.choice(("Yes, that one please.", "Yes.", "Is it the same size? Then yes.")))
        payment = record["payment"]["payment_id"]
        arguments = {"order_id": order, "old": old["sku"], "new": new["sku"], "payment_id": payment}
        it.call("", "exchange_item", arguments, json.dumps({**record, "status": "packed"}))
        self.answer(f"Done: {old['sku']} in {order} is now {new['sku']}, charged to {payment}.")

    def refund(self, order: str, record: dict[str, Any]) -> None:
        it, rng = self.it, self.rng
        item = rng.choice(record["items"])
        self.ask(f"The {item['name']} came broken. I want my money back.")
        payment = record["payment"]["payment_id"]
        self.answer(
            f"I am sorry. I would refund {item['price']} for {item['sku']} of {order} to "
            f"{payment}. Is that right (yes or no)?"
        )
        self.ask("Yes please.")
        case_id = f"RF-{rng.randint(10_000, 99_999)}"
        arguments = {"order_id": order, "sku": item["sku"], "payment_id": payment}
        done = {"refund_id": case_id, "amount": item["price"], "status": "accepted"}
        it.call("", "refund_item", arguments, json.dumps(done))
        it.show("refund", [case_id])
        self.answer(f"The refund {case_id} of {item['price']} is on its way to {payment}.")

    def look_back(self, order: str, record: dict[str, Any]) -> None:
        """The human speaks of something earlier without naming it; the agent has to."""
        it, rng = self.it, self.rng
        kind, noun = rng.choice((("refund", "refund"), ("order", "order"), ("sku", "product")))
        early = it.earliest(kind, order) if rng.random() < 0.5 else it.recall(kind, order)
        self.ask(f"And that {noun} that we talked about earlier, what became of it?")
        found = {"id": early, "status": rng.choice(_STATES), "history": self.history()}
        it.call("", f"get_{noun}_status", {"id": early}, json.dumps(found))
        self.answer(f"{early} is {found['status']}; {order} stays {record['status']}.")

    def customer(self) -> dict[str, Any]:
        rng = self.rng
        first, last = rng.choice(_FIRST), rng.choice(_LAST)
        key = f"{first}_{last}_{rng.randint(1000, 9999)}".lower()
        payments = {f"card_{rng.randint(10**6, 10**7)}": {"brand": "visa"} for _ in range(2)}
        return {
            "customer_id": key,
            "name": f"{first} {last}",
            "email": f"{first}.{last}{rng.randint(100, 999)}@example.com".lower(),
            "address": self.address(),
            "payment_methods": payments,
            "orders": [f"W{rng.randint(10**6, 10**7)}" for _ in range(rng.randint(1, 6))],
        }

    def order(self, order_id: str, customer: dict[str, Any]) -> dict[str, Any]:
        if order_id not in self.records:
            count = heavy_tailed(self.rng, median=3, spread=0.8, most=30)
            payment = self.rng.choice(list(customer["payment_methods"]))
            self.records[order_id] = {
                "order_id": order_id,
                "customer_id": customer["customer_id"],
                "status": self.rng.choice(_STATES),
                "items": [self.item() for _ in range(count)],
                "ship_to": self.address(),
                "payment": {"payment_id": payment, "amount": self.price()},
                "history": self.history(),
            }
        return self.records[order_id]

    def item(self) -> dict[str, Any]:
        rng = self.rng
        name = f"{rng.choice(_LOOKS)} {rng.choice(_GOODS)}"
        return {
            "sku": f"SKU{rng.randint(10**5, 10**6)}",
            "name": name,
            "price": self.price(),
            "options": {"finish": rng.choice(_LOOKS), "size": rng.choice(("S", "M", "L"))},
        }

    def address(self) -> dict[str, str]:
        rng = self.rng
        street = f"{rng.randint(1, 300)} {rng.choice(_LAST)} Street"
        return {
            "street": street,
            "city": rng.choice(_CITIES),
            "zip": str(rng.randint(10**4, 10**5)),
        }

    def history(self) -> list[dict[str, str]]:
        rng = self.rng
        return [
            {
                "at": f"2026-02-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:15:00Z",
                "event": rng.choice(_STATES),
                "place": rng.choice(_CITIES),
            }
            for _ in range(rng.randint(1, 4))
        ]

    def price(self) -> float:
        return round(self.rng.uniform(4, 400), 2)


def service_session(seed: int, tokens: int) -> list[Message]:
    """Return a session of a customer-service agent, in chat format."""
    return _Desk(seed, tokens).session()
